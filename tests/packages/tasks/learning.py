"""Models that are trained."""

from __future__ import annotations


def scikit_learn() -> None:
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_iris
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import cross_val_score

    data, kinds = load_iris(return_X_y=True)
    # Two jobs: processes and the semaphores of loky.
    scores = cross_val_score(RandomForestClassifier(30, random_state=1), data, kinds, cv=3, n_jobs=2)
    assert scores.mean() > 0.9
    assert len(set(KMeans(3, n_init=2, random_state=1).fit(data).labels_)) == 3


def lightgbm() -> None:
    import lightgbm
    from sklearn.datasets import load_iris

    data, kinds = load_iris(return_X_y=True)
    assert lightgbm.LGBMClassifier(n_estimators=20, verbose=-1).fit(data, kinds).score(data, kinds) > 0.9


def xgboost() -> None:
    import xgboost
    from sklearn.datasets import load_iris

    data, kinds = load_iris(return_X_y=True)
    assert xgboost.XGBClassifier(n_estimators=20).fit(data, kinds).score(data, kinds) > 0.9


def torch() -> None:
    import torch

    model = torch.nn.Linear(4, 1)
    step = torch.optim.SGD(model.parameters(), 0.1)
    data = torch.randn(64, 4)
    first = last = float("inf")
    for n in range(50):
        step.zero_grad()
        loss = ((model(data) - data.sum(1, keepdim=True)) ** 2).mean()
        loss.backward()
        step.step()
        first, last = (loss.item() if n == 0 else first), loss.item()
    assert last < first


def torch_draws() -> list[float]:
    import random

    import torch

    return [
        random.random(),
        torch.initial_seed(),
        torch.rand(1).item(),
        torch.randn(1).item(),
        torch.randperm(10**6)[0].item(),
    ]
