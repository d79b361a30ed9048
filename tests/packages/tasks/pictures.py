"""Plots and images."""

from __future__ import annotations


def matplotlib() -> None:
    from pathlib import Path

    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot(range(10), label="a line")
    axes.set_title("Grüße, $x^2$")
    axes.legend()
    figure.savefig("plot.png")
    figure.savefig("plot.pdf")
    assert Path("plot.png").read_bytes().startswith(b"\x89PNG") and Path("plot.pdf").stat().st_size > 5000


def pillow() -> None:
    from PIL import Image, ImageDraw, ImageFilter, ImageFont

    image = Image.new("RGB", (200, 100), "navy")
    ImageDraw.Draw(image).text((10, 10), "glass", fill="white", font=ImageFont.load_default(24))
    for name in "i.png", "i.jpg", "i.webp", "i.gif", "i.tiff":
        image.filter(ImageFilter.GaussianBlur(1)).save(name)
        with Image.open(name) as again:
            assert again.resize((20, 10)).size == (20, 10)


def seaborn() -> None:
    from pathlib import Path

    import pandas as pd
    import seaborn as sns

    frame = pd.DataFrame({"x": range(50), "y": [n * n % 17 for n in range(50)], "k": ["a", "b"] * 25})
    sns.scatterplot(frame, x="x", y="y", hue="k").figure.savefig("plot.svg")
    assert Path("plot.svg").stat().st_size > 5000


def plotly() -> None:
    from pathlib import Path

    import plotly.graph_objects as go

    go.Figure(go.Scatter(y=[1, 3, 2])).write_html("plot.html", include_plotlyjs=False)
    assert "scatter" in Path("plot.html").read_text()


def opencv() -> None:
    import cv2
    import numpy as np

    image = np.zeros((100, 100, 3), np.uint8)
    cv2.circle(image, (50, 50), 30, (255, 255, 255), -1)
    found, _ = cv2.findContours(cv2.Canny(image, 50, 150), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    assert len(found) == 1 and cv2.imwrite("i.png", image) and cv2.imread("i.png").shape == (100, 100, 3)
