"""What programs of every kind use."""

from __future__ import annotations


def pydantic() -> None:
    from datetime import date

    from pydantic import BaseModel, ValidationError

    class Row(BaseModel):
        when: date
        many: list[int]

    assert Row.model_validate_json('{"when": "2026-01-02", "many": ["1", 2]}').many == [1, 2]
    try:
        Row.model_validate({"when": "x", "many": []})
        raise AssertionError("it was accepted")
    except ValidationError as error:
        assert error.error_count() == 1


def tqdm() -> None:
    import io

    from tqdm import tqdm

    assert sum(tqdm(range(1000), file=(text := io.StringIO()), mininterval=0)) == 499_500
    assert "100%" in text.getvalue()


def python_dateutil() -> None:
    from datetime import datetime

    from dateutil import parser, relativedelta, tz

    assert parser.parse("3 May 2026 4pm") + relativedelta.relativedelta(months=1) == datetime(2026, 6, 3, 16)
    assert datetime(2026, 7, 1, tzinfo=tz.gettz("Europe/Berlin")).utcoffset() is not None


def cryptography() -> None:
    from cryptography.fernet import Fernet
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519
    from cryptography.hazmat.primitives.hashes import SHA256

    box = Fernet(Fernet.generate_key())
    assert box.decrypt(box.encrypt(b"secret")) == b"secret"
    key = ed25519.Ed25519PrivateKey.generate()
    key.public_key().verify(key.sign(b"text"), b"text")
    assert ec.generate_private_key(ec.SECP256R1()).sign(b"text", ec.ECDSA(SHA256()))


def psutil() -> None:
    import psutil

    assert psutil.virtual_memory().total > 0 and psutil.Process().memory_info().rss > 0 and psutil.cpu_count()
