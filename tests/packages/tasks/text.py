"""Formats, templates and language."""

from __future__ import annotations


def pyyaml() -> None:
    import yaml

    assert yaml.__with_libyaml__
    assert yaml.load(yaml.dump({"a": [1, 2, {"b": None}]}), yaml.CSafeLoader) == {"a": [1, 2, {"b": None}]}


def jinja2() -> None:
    import jinja2

    text = jinja2.Environment(autoescape=True).from_string("{% for x in rows %}{{ x }},{% endfor %}")
    assert text.render(rows=["<", 2]) == "&lt;,2,"


def rich() -> None:
    import io

    from rich.console import Console
    from rich.table import Table

    table = Table("name", "value")
    table.add_row("a", "[red]1[/]")
    Console(file=(text := io.StringIO()), force_terminal=True).print(table)
    assert "\x1b[31m1" in text.getvalue()


def nltk() -> None:
    from nltk import FreqDist
    from nltk.stem import PorterStemmer
    from nltk.tokenize import wordpunct_tokenize

    words = [PorterStemmer().stem(word) for word in wordpunct_tokenize("Jars are jarring; a jar is a jar.")]
    assert FreqDist(words)["jar"] == 4


def spacy() -> None:
    import spacy

    language = spacy.blank("en")
    language.add_pipe("sentencizer")
    assert len(list(language("Under glass. It's safe.").sents)) == 2


def orjson() -> None:
    import orjson

    assert orjson.loads(orjson.dumps({"a": [1, 2.5, None]})) == {"a": [1, 2.5, None]}
