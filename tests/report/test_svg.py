"""Figures become markup that keeps their text and takes the palette's colours as variables."""

import base64
import re

import numpy as np
from matplotlib.figure import Figure

from mrconv.report.palette import DARK, INK, heat_colors, resolution_colors
from mrconv.report.svg import draw


def simple(text="words", color=INK):
    figure = Figure((4, 3))
    figure.text(0.1, 0.5, text, color=color)
    return figure


def luminance(color):
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_is_text_and_colors_are_variables():
    drawing = draw(simple("a < b"), "alt", "f1")
    assert ">a &lt; b</text>" in drawing.markup
    assert f"fill: var(--c{INK[1:]})" in drawing.markup
    assert drawing.colors == {INK}
    assert 'aria-label="alt"' in drawing.markup
    assert "width:400px" in drawing.markup


def test_colors_of_others_and_words_that_look_like_colors_stay():
    drawing = draw(simple(f"see {INK}", "#123456"), "alt", "f1")
    assert f"see {INK}" in drawing.markup
    assert "fill: #123456" in drawing.markup
    assert not drawing.colors


def test_the_same_figure_gives_the_same_markup():
    figure = simple()
    figure.add_subplot().plot([1, 3, 2])
    assert draw(figure, "alt", "f1") == draw(figure, "alt", "f1")


def test_links_of_a_figure_are_left_out():
    figure = Figure((4, 3))
    figure.text(0.1, 0.5, "words", url="https://example.org")
    markup = draw(figure, "alt", "f1").markup
    assert "example.org" not in markup
    assert ">words</text>" in markup


def test_a_figure_of_very_many_points_becomes_a_picture():
    figure = Figure((4, 3))
    rng = np.random.default_rng(0)
    figure.add_subplot().scatter(*rng.random((2, 7_000)), c=rng.random(7_000))
    drawing = draw(figure, 'so "many"', "f1")
    assert drawing.markup.startswith('<img class="paper" alt="so &quot;many&quot;" width="400"')
    data = re.search(r'src="data:image/png;base64,([^"]+)"', drawing.markup)[1]
    assert base64.b64decode(data).startswith(b"\x89PNG")
    assert not drawing.colors


def test_ramps_grow_evenly_and_have_as_many_dark_partners():
    assert resolution_colors(1) == resolution_colors(7)[:1]
    for ramp in (heat_colors(), *(resolution_colors(count) for count in range(1, 25))):
        assert len(set(ramp)) == len(ramp)
        light = [luminance(color) for color in ramp]
        assert light == sorted(light, reverse=True)
        assert len({DARK[color] for color in ramp}) == len(ramp)


def test_text_and_lines_can_be_read_in_both_modes():
    for color in ("#1d232b", "#5b6673"):
        assert contrast(color, "#ffffff") > 4.5
        assert contrast(DARK[color], "#151b23") > 4.5
    for color in resolution_colors(8):
        assert contrast(color, "#ffffff") > 2.5
        assert contrast(DARK[color], "#151b23") > 2.5
