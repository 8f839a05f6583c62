"""Figures: written in three formats, the same bytes every time, not blank, readable without color."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import shuffledp as sdp
from shuffledp import plots
from shuffledp._support.ticks import round_numbers
from shuffledp.accounting.comparison import Comparison
from shuffledp.accounting.drawing_curves import drawn_bounds
from shuffledp.accounting.sweeps import Sweep
from shuffledp.bounds import BOUNDS
from shuffledp.estimation.answer import Provenance
from shuffledp.estimation.estimate import SHARE, Estimate

FEW = ["constant-dataset-lower", "blanket", "variation-ratio", "variation-ratio-published", "clone", "local"]
HEAD = {"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return sdp.compare("grr:eps0=3,d=16", n=1000, delta=1e-5)


@pytest.fixture(scope="module")
def sweep() -> Sweep:
    return sdp.sweep("subset:d=16", eps0=np.linspace(0.25, 5, 9), n=10_000, delta="0.01/n")


def pixels(figure: Figure, path: Path) -> Any:
    """Grays of the figure as written."""
    plots.save(figure, path)
    from matplotlib.image import imread

    return imread(path)[..., :3].mean(axis=2)


@pytest.mark.slow
@pytest.mark.parametrize("width", [plots.COLUMN_WIDTH, plots.TEXT_WIDTH])
@pytest.mark.parametrize("kind", ["comparison", "epsilon", "ratio"])
def test_three_formats_not_blank(kind: str, width: float, tmp_path: Path, comparison: Comparison, sweep: Sweep) -> None:
    def make() -> Figure:
        if kind == "comparison":
            return plots.draw_comparison(comparison, width=width)
        return plots.draw_sweep(sweep, quantity=kind, width=width)

    for suffix, head in HEAD.items():
        path = tmp_path / f"figure.{suffix}"
        plots.save(make(), path)
        first = path.read_bytes()
        assert first.startswith(head) and len(first) > 2000
        plots.save(make(), path)
        assert path.read_bytes() == first, f"{suffix} differs between two runs"
        assert b"/CreationDate" not in first and b"<dc:date>" not in first and b"Software" not in first
    assert [p.name for p in tmp_path.iterdir()].count("figure.png") == 1 and len(list(tmp_path.iterdir())) == 3
    gray = pixels(make(), tmp_path / "figure.png")
    assert gray.shape[1] == round(300 * width) and 0.01 < (gray < 0.9).mean() < 0.5
    edge = np.concatenate([gray[0], gray[-1], gray[:, 0], gray[:, -1]])
    assert edge.min() > 0.99, "something is cut off at the edge"


def boxes(figure: Figure) -> tuple[Any, Any, Any]:
    figure.draw_without_rendering()
    axes, legend = figure.axes[0], figure.legends[0]
    title = figure._suptitle  # type: ignore[attr-defined]
    return axes.get_tightbbox(), legend.get_window_extent(), title.get_window_extent()


@pytest.mark.heavy_cases("comparison-3.33")
@pytest.mark.slow_cases("sweep-3.33")
@pytest.mark.parametrize("width", [plots.COLUMN_WIDTH, plots.TEXT_WIDTH])
@pytest.mark.parametrize("kind", ["comparison", "sweep"])
def test_nothing_overlaps(kind: str, width: float, comparison: Comparison, sweep: Sweep) -> None:
    figure = plots.draw(comparison if kind == "comparison" else sweep, width=width)
    axes, legend, title = boxes(figure)
    assert not axes.overlaps(legend) and not title.overlaps(legend) and not title.overlaps(axes)
    for box in (axes, legend, title):
        assert box.x0 >= 0 and box.y0 >= 0
        assert box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1
    window = figure.axes[0].get_window_extent()
    assert window.width > 0.25 * figure.bbox.width and window.height > 100  # an inch and more for the data


@pytest.mark.slow_cases("*-7.0")
@pytest.mark.parametrize("width", [plots.COLUMN_WIDTH, plots.TEXT_WIDTH])
@pytest.mark.parametrize("spec", ["grr:eps0=3,d=16", "cheu-zhilyaev:flip=0.12345678,d=123456,messages=3"])
@pytest.mark.parametrize("names", [[FEW[0]], [FEW[3]], ["local"], ["local", FEW[3]], ["local", FEW[3], FEW[0]]])
def test_few_rows_have_room(names: list[str], spec: str, width: float) -> None:
    """matplotlib warns (an error here) where the layout does not fit."""
    figure = plots.draw(sdp.compare(spec, n=1000, delta=1e-5, bounds=names), width=width)
    axes, legend, title = boxes(figure)
    assert not axes.overlaps(legend) and not title.overlaps(axes)
    assert figure.axes[0].get_window_extent().height >= 10 * len(names)


def test_lines_differ_without_color() -> None:
    looks = [(str(look["linestyle"]), look["marker"]) for look in plots.LINES]
    assert len(set(looks)) == len(looks) >= len(BOUNDS)
    assert len({(look["color"], str(look["linestyle"])) for look in plots.LINES}) == len(looks)


def test_a_bound_looks_the_same_in_every_figure(sweep: Sweep) -> None:
    few = sdp.sweep("subset:d=16", eps0=[1.0, 2.0], n=10_000, delta=1e-6, bounds=["clone", "blanket"])
    looks = []
    for s in (sweep, few):
        lines = {line.get_label(): line for line in plots.draw_sweep(s, most=28).axes[0].lines}
        looks.append([(lines[x].get_color(), lines[x].get_marker()) for x in ("clone", "blanket")])
    assert looks[0] == looks[1]


def test_unsound_is_hollow_and_labeled(comparison: Comparison, sweep: Sweep) -> None:
    for line in plots.draw_sweep(sweep, most=28).axes[0].lines:
        name = str(line.get_label()).partition(" ")[0]
        assert (line.get_markerfacecolor() == "white") == (not BOUNDS[name].sound)
        assert ("(not a bound)" in str(line.get_label())) == (not BOUNDS[name].sound)
        assert ("(lower)" in str(line.get_label())) == (BOUNDS[name].side == "lower")
    figure = plots.draw_comparison(comparison)
    hollow = [line for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]
    assert len(hollow) == 1 and "not a bound" in str(hollow[0].get_label())
    places = {row.epsilon for row in comparison.rows if not row.sound}
    assert set(hollow[0].get_xdata()) == places
    assert any("not a bound" in text.get_text() for text in figure.legends[0].get_texts())


def test_dots_are_the_rows_in_order(comparison: Comparison) -> None:
    axes = plots.draw_comparison(comparison).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == [row.bound for row in comparison.rows]
    dots = {(x, y) for line in axes.lines[:3] for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)}
    assert dots == {(row.epsilon, y) for y, row in enumerate(comparison.rows)}
    assert comparison.lower is not None and axes.lines[3].get_xdata()[0] == comparison.lower.epsilon
    assert [text.get_text() for text in axes.texts] == [row.shown for row in comparison.rows]


@pytest.mark.heavy
def test_infinite_and_absent_values_leave_gaps(tmp_path: Path) -> None:
    bare = sdp.compare("variation-ratio:inf,0.7,4", n=10_000, delta=1e-6)
    figure = plots.draw_comparison(bare)
    assert "inf" in [text.get_text() for text in figure.axes[0].texts]
    assert np.isfinite([x for line in figure.axes[0].lines for x in line.get_xdata()]).all()
    assert (pixels(figure, tmp_path / "a.png") < 0.9).any()
    s = sdp.sweep("grr:eps0=2,d=8", n=[100, 10**5, 10**6], delta=1e-6, bounds=["clone-closed", "blanket"])
    line = next(x for x in plots.draw_sweep(s).axes[0].lines if x.get_label() == "clone-closed")
    assert np.ma.getmaskarray(line.get_ydata()).tolist() == [True, False, False]
    nothing = sdp.sweep("variation-ratio:inf,1,inf", n=[10, 100], delta=1e-6)
    assert (pixels(plots.draw_sweep(nothing, quantity="ratio"), tmp_path / "b.png") < 0.9).any()
    zero = sdp.compare(sdp.FiniteRandomizer([[0.5, 0.5], [0.5, 0.5]]), n=10, delta=1e-6)
    assert (pixels(plots.draw_comparison(zero), tmp_path / "c.png") < 0.9).any()


def test_a_spec_is_not_read_as_mathematics(tmp_path: Path) -> None:
    path = tmp_path / "a$b_{$.csv"
    path.write_text("0.75,0.25\n0.25,0.75\n")
    c = sdp.compare(f"finite:{path}", n=100, delta=1e-6, bounds=["blanket", "local"])
    plots.save(plots.draw(c), tmp_path / "figure.svg")
    assert "a$b_{$" in (tmp_path / "figure.svg").read_text() or "$" not in c.title


def test_settings_are_given_back() -> None:
    before = dict(mpl.rcParams)
    with plots.style():
        assert mpl.rcParams["pdf.fonttype"] == 42 and 8 <= mpl.rcParams["font.size"] <= 9
    assert dict(mpl.rcParams) == before
    with pytest.raises(ZeroDivisionError), plots.style():
        _ = 1 / 0
    assert dict(mpl.rcParams) == before


def words_of(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.findobj(mpl.text.Text) if text.get_text()]


@pytest.mark.heavy
def test_papers_have_their_own_style(tmp_path: Path, comparison: Comparison, sweep: Sweep) -> None:
    before = dict(mpl.rcParams)
    with plots.style("paper"):
        figure, drawn = sweep.plot(quantity="ratio", width=plots.COLUMN_WIDTH), comparison.plot()
        axes = plots.new_figure(4.0, 3.0).subplots()
        sweep.plot(ax=axes)
        with plots.style("plain"):
            assert sweep.plot()._suptitle is not None  # type: ignore[attr-defined]
    assert dict(mpl.rcParams) == before and sweep.plot()._suptitle is not None  # type: ignore[attr-defined]
    assert figure._suptitle is None and not axes.get_title()  # type: ignore[attr-defined]
    for words in (words_of(figure), words_of(drawn), words_of(axes)):
        assert any(r"$\varepsilon$" in word for word in words) and not any("ε" in word for word in words)
    assert figure.axes[0].get_xlabel() == r"local budget $\varepsilon_0$"
    for kind in ("svg", "pdf", "png"):  # outside the block
        plots.save(figure, tmp_path / f"a.{kind}")
    assert "<text" not in (tmp_path / "a.svg").read_text()
    data = (tmp_path / "a.pdf").read_bytes()
    assert b"STIXGeneral" in data and b"DejaVu" not in data and b"/Type3" not in data
    with (
        pytest.raises(sdp.ParameterError, match=r"^unknown style 'papr'; did you mean 'paper'\?$"),
        plots.style("papr"),
    ):
        pass


@pytest.mark.heavy
def test_studies_are_drawn_by_their_axes() -> None:
    study = sdp.sweep(
        {"a$b$": "grr", "subset": "subset"},
        eps0=[1, 2],
        d=[4, 16],
        n=[100, 10_000],
        delta=1e-6,
        bounds=["auto", "clone-closed", "constant-dataset-lower"],
    )
    figure = study.select(bound="auto").plot(x="n", by=["mechanism", "d", "eps0"])
    assert figure.axes[0].get_xlabel() == "number of users n" and len(figure.axes[0].lines) == 8
    lines = {line.get_label(): line.get_ydata().tolist() for line in figure.axes[0].lines}
    for d, eps0 in ((4, 1), (16, 2)):
        rows = study.select(bound="auto", mechanism="subset", d=d, eps0=eps0)
        assert lines[f"subset, d = {d}, ε₀ = {eps0}"] == [row.epsilon for row in rows]
    assert r"a\$b\$, d = 4, ε₀ = 1" in lines
    figure.draw_without_rendering()
    one = study.select(mechanism="subset", d=4, eps0=2)
    curves = {line.get_label(): line for line in one.plot().axes[0].lines}
    assert list(curves) == ["auto", "clone-closed", "constant-dataset-lower (lower)"]
    assert np.isnan(np.ma.filled(curves["clone-closed"].get_ydata(), np.nan)).tolist() == [True, False]
    swept = {line.get_label(): line for line in one.to_sweep().plot().axes[0].lines}
    assert {k: line.get_color() for k, line in curves.items()} == {k: line.get_color() for k, line in swept.items()}
    ratio = one.select(bound="auto").plot(quantity="ratio").axes[0].lines[0]
    assert ratio.get_ydata().tolist() == [2.0 / row.epsilon for row in one.select(bound="auto") if row.epsilon]
    assert "and 6 more, left out" in words_of(study.select(bound="auto").plot(x="n", most=2))
    assert "mine" in words_of(one.plot(labels={"auto": "mine"}))
    assert plots.draw(one).axes[0].has_data()
    for call, said in (
        (lambda: study.plot(x="bound"), "unknown x 'bound'"),
        (lambda: study.plot(by="nonsense"), "unknown by 'nonsense'"),
        (lambda: study.plot(x="n", by="d"), "by must name every axis that varies, got none of mechanism, eps0, bound"),
        (lambda: study.select(n=100, eps0=1, d=4).plot(), "x must be an axis of numbers that vary, got none"),
        (lambda: study.plot(quantity="eps"), "unknown quantity 'eps'"),
        (lambda: study.plot(most=0), "most must"),
        (
            lambda: study.select(n=100, d=4, bound="clone-closed", mechanism="subset").plot(),
            "a study must have a curve",
        ),
    ):
        with pytest.raises(sdp.ParameterError, match=f"^{said}"):
            call()


@pytest.mark.heavy
def test_text_stays_text(tmp_path: Path, comparison: Comparison) -> None:
    plots.save(plots.draw(comparison), tmp_path / "a.svg")
    assert ">blanket-hoeffding</text>" in (tmp_path / "a.svg").read_text()
    plots.save(plots.draw(comparison), tmp_path / "a.pdf")
    assert b"/TrueType" in (tmp_path / "a.pdf").read_bytes() or b"/CIDFontType2" in (tmp_path / "a.pdf").read_bytes()
    assert b"/Type3" not in (tmp_path / "a.pdf").read_bytes()


@pytest.mark.slow
def test_no_global_figure_and_no_pyplot(tmp_path: Path) -> None:
    code = (
        "import sys, shuffledp as s\nfrom shuffledp import plots\n"
        "c = s.compare('grr:eps0=1,d=4', n=100, delta=1e-6, bounds=['blanket', 'local'])\n"
        "assert 'matplotlib' not in sys.modules\n"
        "plots.save(plots.draw(c), sys.argv[1])\n"
        "assert 'matplotlib' in sys.modules and 'matplotlib.pyplot' not in sys.modules\n"
    )
    run = [sys.executable, "-c", code, str(tmp_path / "a.pdf")]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.heavy
def test_bad_input(tmp_path: Path, comparison: Comparison, sweep: Sweep) -> None:
    figure = plots.draw(comparison)
    for path, words in (
        (tmp_path / "a.jpg", "must end in .pdf, .svg or .png"),
        (tmp_path / "noend", "must end in"),
        ("", "must end in"),
        (3, "must be the path"),
        (None, "must be the path"),
        (tmp_path / "no" / "a.png", "must be a file that can be written"),
    ):
        with pytest.raises(sdp.ParameterError, match=rf"^plot {words}[^\n]*\.$"):
            plots.save(figure, path)  # type: ignore[arg-type]
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(sdp.ParameterError, match="can be written"):
        plots.save(figure, tmp_path / "folder.png")
    assert [p.name for p in tmp_path.iterdir()] == ["folder.png"], "nothing is left behind"
    for result in (None, 3, comparison.rows):
        with pytest.raises(
            sdp.ParameterError, match=r"^result must be a Comparison, a Sweep or a Study, got [^\n]*\.$"
        ):
            plots.draw(result)  # type: ignore[arg-type]
    with pytest.raises(sdp.ParameterError, match="unknown quantity 'eps'"):
        plots.draw_sweep(sweep, quantity="eps")
    with pytest.raises(sdp.ParameterError, match=r"^comparison must have a row"):
        plots.draw(sdp.compare("general:eps0=1", n=10, delta=0.1, bounds=["blanket"]))
    with pytest.raises(sdp.ParameterError, match=r"^sweep must have a curve"):
        plots.draw(sdp.sweep("general:eps0=1", n=[10], delta=0.1, bounds=["blanket"]))


def test_missing_matplotlib_is_one_sentence(monkeypatch: pytest.MonkeyPatch, comparison: Comparison) -> None:
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    for call in (lambda: plots.draw(comparison), lambda: plots.prepare("a.pdf")):
        with pytest.raises(sdp.ShuffleDPError, match=r"^[^\n]*pip install '\.\[plot\]' in a checkout of shuffledp\.$"):
            call()


@pytest.mark.heavy
def test_a_link_stays_a_link(tmp_path: Path, comparison: Comparison) -> None:
    (tmp_path / "real.png").write_bytes(b"old")
    (tmp_path / "link.png").symlink_to(tmp_path / "real.png")
    plots.save(plots.draw(comparison), tmp_path / "link.png")
    assert (tmp_path / "link.png").is_symlink() and (tmp_path / "real.png").read_bytes().startswith(HEAD["png"])


# -- what every result draws and how a notebook shows it ------------------------------------------------------------

PROGRAMME: dict[str, Any] = {
    "version": 1,
    "name": "weekly $telemetry_{",
    "target": {"epsilon": 1, "delta": "1e-6"},
    "rounds": [{"mechanism": "grr:eps0=2,d=16", "users": 10_000, "count": 3}],
}


@pytest.mark.heavy_cases("0.01/n")
@pytest.mark.parametrize("rule", [1e-6, "0.01/n"])
def test_the_release_line_stands_at_the_users_needed(rule: float | str) -> None:
    table = sdp.batch_table("grr:eps0=2,d=16", delta=rule, n=[100, 1000, 10_000], dropouts="5%")
    needed = sdp.users_needed("grr:eps0=2,d=16", epsilon=0.5, delta=rule, dropouts=0.05)
    lines = {str(line.get_label()): line.get_xdata() for line in table.plot(epsilon=0.5).axes[0].lines}
    assert 100 < needed < 1000 and lines[f"release from {needed:,} users on"] == [needed, needed]
    assert table.release_from(0.5) == needed and table.minimum(0.5) == 1000
    assert table.release_from(5.0) == 100 and table.release_from(1e-9) is None


def results() -> dict[str, tuple[Any, dict[str, Any], str]]:
    """result, arguments of plot, words of its title."""
    generator = np.random.default_rng(5)
    grr = sdp.GRR(eps0=2.0, d=64)
    estimate = grr.estimate(grr.privatize(np.arange(2000) % 60, rng=generator))
    over = {**PROGRAMME, "target": {"epsilon": 0.05, "delta": "1e-6"}}
    account = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=20).compose("general:eps0=1", n=500)
    batches = sdp.batch_table("grr:eps0=2,d=16", delta="0.01/n", n=[100, 1000, 10_000])
    gaps = sdp.batch_table("pure-dump:d=4,messages=1", delta=1e-6, n=[2, 1000])
    audit = sdp.audit("grr:eps0=1,d=3", samples=2000, rng=generator)
    broken = sdp.audit("grr:eps0=3,d=3", claimed="grr:eps0=1,d=3", samples=2000, rng=generator)
    unclaimed = sdp.audit(lambda x: x, inputs=[0, 1], samples=500)
    return {
        "estimate": (estimate, {}, "Estimates of 64 items from 2,000 users with 95% intervals"),
        "population": (estimate, {"of": "population", "level": 0.5, "most": 64}, "50% intervals for the population"),
        "consistent": (estimate.consistent(), {}, "after the step 'nearest'; the 50 largest are drawn"),
        "account": (account, {"delta": 1e-6, "epsilon": 0.5}, "ε of 21 rounds over the same users at δ = 1e-6"),
        "rule": (account, {"delta": "0.01/n"}, "at δ = 1e-6"),
        "batches": (batches, {"epsilon": 0.5}, "ε of a batch running grr:eps0=2,d=16 at δ = 0.01/n"),
        "gaps": (gaps, {"epsilon": 1e-9}, "at δ = 1e-6"),
        "check": (sdp.check(PROGRAMME), {}, "WITHIN BUDGET: weekly $telemetry_{ (ε of 3 rounds at δ = 1e-6"),
        "over": (sdp.check(over), {}, "OVER BUDGET"),
        "audit": (audit, {}, "Audit of grr:eps0=1,d=3: no violation found"),
        "broken": (broken, {}, "VIOLATION; the reports do not follow the claimed law"),
        "unclaimed": (unclaimed, {}, "no violation found"),
    }


@pytest.fixture(scope="module")
def drawn() -> dict[str, tuple[Any, dict[str, Any], str]]:
    return results()


SINGLE = ("estimate", "population", "consistent", "account", "rule", "batches", "gaps")
NAMES = (*SINGLE, "check", "over", "audit", "broken", "unclaimed")


@pytest.mark.slow_cases(
    "gaps-*", "rule-*", "account-*", "batches-*", "estimate-*", "population-*", "consistent-*", "over-7.0"
)
@pytest.mark.parametrize("width", [plots.COLUMN_WIDTH, plots.TEXT_WIDTH])
@pytest.mark.parametrize("name", NAMES)
def test_every_result_draws_itself(name: str, width: float, tmp_path: Path, drawn: Any) -> None:
    result, arguments, words = drawn[name]
    figure = result.plot(width=width, **arguments)
    title = " ".join(figure._suptitle.get_text().replace("\N{NO-BREAK SPACE}", " ").split())
    assert words in title, title
    gray = pixels(figure, tmp_path / "figure.png")
    assert gray.shape[1] == round(300 * width) and 0.005 < (gray < 0.9).mean() < 0.6
    edge = np.concatenate([gray[0], gray[-1], gray[:, 0], gray[:, -1]])
    assert edge.min() > 0.99, "something is cut off at the edge"
    axes = figure.axes[0]
    heads = [figure._suptitle, *figure.legends]
    figure.draw_without_rendering()
    assert not any(axes.get_tightbbox().overlaps(head.get_window_extent()) for head in heads)
    assert axes.get_window_extent().height > 40


@pytest.mark.heavy
def test_a_notebook_shows_a_figure_once(comparison: Comparison) -> None:
    """IPython asks for _repr_png_ where no formatter of pyplot is installed; pyplot does not know the figure."""
    figure = comparison.plot()
    png, place = figure._repr_png_()  # type: ignore[attr-defined]
    assert png.startswith(HEAD["png"]) and place == {"width": 700, "height": round(100 * figure.get_figheight())}
    from matplotlib.image import imread

    assert imread(io.BytesIO(png)).shape[1] == 2 * place["width"], "sharp on dense screens"
    assert figure._repr_html_() is None
    assert isinstance(pickle.loads(pickle.dumps(figure)), type(figure))


def test_six_curves_unless_told(sweep: Sweep) -> None:
    figure = sweep.plot()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(figure.axes[0].lines) == 6 and len(labels) == 7
    assert labels[-1] == f"and {len(sweep.bounds) - 6} more, left out"
    kept = {label.partition(" ")[0] for label in labels[:-1]}
    assert {"swap", "blanket", "local", "constant-dataset-lower"} <= kept
    assert not any("not a bound" in label for label in labels)
    for most in (1, 2, 3, 20):
        shown = drawn_bounds(sweep, most)
        assert len(shown) == min(most, len(sweep.bounds)) and "swap" in shown
        assert [name for name in sweep.bounds if name in shown] == shown
    everything = sweep.plot(most=100)
    assert len(everything.axes[0].lines) == len(sweep.bounds)
    assert not any("left out" in text.get_text() for text in everything.legends[0].get_texts())


def test_an_estimate_shows_its_largest_items(drawn: Any) -> None:
    estimate = drawn["estimate"][0]
    axes = estimate.plot(most=5).axes[0]
    largest = np.argsort(-estimate.value, kind="stable")[:5]
    assert [text.get_text() for text in axes.get_yticklabels()] == [str(i) for i in largest]
    assert [bar.get_width() for bar in axes.patches] == estimate.value[largest].tolist()
    low, high = estimate.interval()
    ends = axes.collections[0].get_segments()
    assert np.allclose([part[:, 0] for part in ends], np.transpose([low, high])[largest])


def shares(**more: Any) -> Estimate:
    value = np.array([0.1, 0.3, 0.2, 0.4])
    made = Estimate(value=value, stderr=np.full(4, 0.01), n=10_000, names=("a", "b", "c", "other"), quantity=SHARE)
    return replace(made, rest="other", **more)


def rows_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_yticklabels()]


def test_bars_are_sorted_and_the_rest_is_set_apart() -> None:
    figure = shares().plot()
    assert rows_of(figure) == ["b", "c", "a", "other"]
    bars = figure.axes[0].patches
    gaps = np.diff([bar.get_y() for bar in bars])
    assert np.allclose(gaps[:2], 1.0) and gaps[2] > 1.5 and bars[3].get_facecolor() != bars[0].get_facecolor()
    assert figure.axes[0].texts[0].get_text() == "30.0 % (28.0 to 32.0), 3,000 users"
    assert figure.axes[0].texts[3].get_text() == "40.0 % (38.0 to 42.0), 4,000 users"
    assert rows_of(shares(ordered=True).plot()) == ["a", "b", "c", "other"], "bins keep their order"
    assert shares().counts().plot().axes[0].texts[0].get_text() == "3,000 (2,800 to 3,200)"
    assert shares().plot(width=plots.COLUMN_WIDTH).axes[0].texts[0].get_text() == "30.0 %"


def test_the_question_is_the_title() -> None:
    asked = Provenance(question="the share of users who hold each of 4 options", name="")
    title = shares(provenance=asked).plot()._suptitle.get_text()  # type: ignore[attr-defined]
    assert title.startswith("The share of users who hold each of 4 options\n")
    named = shares(provenance=replace(asked, name="Weekly screens")).plot()
    assert named._suptitle.get_text().startswith("Weekly screens\n")  # type: ignore[attr-defined]


def test_a_mean_is_a_point_on_its_scale() -> None:
    query = sdp.queries.Mean(column=("walk", "ride"), low=0, high=60, unit="min", mechanism="harmony:eps0=2")
    values = query.encode([np.full(5000, 12.0), np.full(5000, 40.0)])
    answer = query.answer(query.randomizer.privatize_counts(values, rng=np.random.default_rng(0)))
    axes = answer.plot().axes[0]
    assert not axes.patches and [text.get_text() for text in axes.get_yticklabels()] == ["walk", "ride"]
    assert np.allclose(axes.lines[0].get_xdata(), answer.value)
    low, high = axes.get_xlim()
    assert -2.0 < low <= 0.0 and 60.0 <= high < 62.0 and axes.get_xlabel() == "mean (min)"
    assert axes.texts[0].get_text().endswith(")") and " min (" in axes.texts[0].get_text()


def test_quantiles_are_marked_with_their_intervals() -> None:
    query = sdp.queries.RangeQuery(column="wait", low=0, high=16, bins=16, unit="s", mechanism="grr:eps0=4")
    values = query.encode([np.arange(8000) % 16])
    answer: Any = query.answer(query.randomizer.privatize_counts(values, rng=np.random.default_rng(0)))
    found = answer.fitted().quantiles([0.25, 0.75])
    figure = found.plot(truth=query.exact([np.arange(16)]))
    axes = figure.axes[0]
    words = [text.get_text() for text in figure.legends[0].get_texts()]
    assert words == ["95% interval", "share of users below", "truth", *found.words()[:2]]
    assert axes.get_xlabel() == "wait (s)"
    bands = [(span.get_x(), span.get_x() + span.get_width()) for span in axes.patches]
    assert np.allclose(bands, np.transpose([found.low, found.high]))
    marks = [line.get_xydata()[0].tolist() for line in axes.lines if line.get_linestyle() == "None"]
    assert np.allclose(marks, [[found.value[0], 0.25], [found.value[1], 0.75]])
    assert any("p95: " in text.get_text() for text in answer.plot().legends[0].get_texts())


@pytest.mark.slow_cases("estimate", "batches", "account")
@pytest.mark.parametrize("name", ["estimate", "account", "batches", "check", "audit", "comparison"])
def test_everything_draws_in_axes_of_the_caller_with_words_of_the_caller(
    name: str, drawn: Any, comparison: Comparison
) -> None:
    result, arguments, _ = (comparison, {}, "") if name == "comparison" else drawn[name]
    result = result.first(3) if name == "account" else result
    figure = plots.new_figure(8.0, 4.0)
    left, right = figure.subplots(1, 2)
    assert result.plot(ax=right, **arguments) is figure
    assert right.get_title() and not figure.legends and figure._suptitle is None  # type: ignore[attr-defined]
    assert not left.has_data() and right.has_data()
    texts = right.get_legend().get_texts() if right.get_legend() else right.get_yticklabels()
    word = texts[0].get_text()
    again = result.plot(labels={word: "in my words"}, **arguments)
    shown = [text.get_text() for text in again.findobj(match=lambda x: hasattr(x, "get_text"))]
    assert "in my words" in shown and word not in shown
    rename = r"^labels must rename what is drawn \([^\n]*, got 'nothing'; correct it\.$"
    with pytest.raises(sdp.ParameterError, match=rename):
        result.plot(labels={"nothing": "something"}, **arguments)
    for bad in (["a"], {1: "a"}, {"a": 1}):
        with pytest.raises(sdp.ParameterError, match=r"^labels must map words of the figure to others, got [^\n]*\.$"):
            result.plot(labels=bad, **arguments)
    with pytest.raises(sdp.ParameterError, match=r"^ax must be matplotlib axes, got str; [^\n]*\.$"):
        result.plot(ax="axes", **arguments)


@pytest.mark.heavy
def test_several_panels_share_the_axes_of_the_caller() -> None:
    query = sdp.queries.KeyValue(column="r", keys=["tea", "milk"], size=1, low=0, high=9, mechanism="pckv-grr:eps0=4")
    answer = query.exact([[{"tea": 8.0}, {"milk": 2.0}] * 50])
    with plots.style():
        figure = plots.new_figure(8.0, 6.0)
    upper, lower = figure.subplots(2, 1)
    answer.plot(ax=lower, labels={"tea": "Tea"})
    figure.draw_without_rendering()
    assert len(figure.axes) == 5 and figure.axes[2].get_title()
    title = figure.axes[2].title.get_window_extent()
    for axes in figure.axes[3:]:
        assert lower.get_window_extent().padded(8.0).containsx(axes.get_window_extent().x0)
        assert not axes.get_window_extent().overlaps(upper.get_window_extent())
        assert not axes.get_window_extent().overlaps(title)
    with pytest.raises(sdp.ParameterError, match=r"^ax must be of figure\.subplots\(\) [^\n]*\.$"):
        answer.plot(ax=plots.new_figure(4.0, 4.0).add_axes((0.1, 0.1, 0.8, 0.8)))


@pytest.mark.heavy
def test_rounds_are_marked_at_round_numbers_and_ticked_there() -> None:
    acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=10_000, count=52)
    axes = acc.plot(delta=1e-6).axes[0]
    points = axes.lines[0].get_xdata().tolist()
    assert points == [1, *range(5, 50, 5), 52] and axes.get_xticks().tolist() == points
    assert round_numbers(20, 20) == list(range(1, 21)) and round_numbers(1, 20) == [1]
    for last in range(21, 3000, 7):
        found = round_numbers(last, 20)
        assert found[0] == 1 and found[-1] == last and len(found) <= 21 and found == sorted(set(found))
    sizes = [100, 110, 1000, 10_000]
    ticked = sdp.batch_table("grr:eps0=2,d=16", delta=1e-6, n=sizes).plot().axes[0]
    assert [text.get_text() for text in ticked.get_xticklabels()] == ["100", "1,000", "10,000"]
    assert sorted([*ticked.get_xticks(), *ticked.get_xticks(minor=True)]) == sizes


@pytest.mark.heavy
def test_an_account_is_drawn_round_by_round() -> None:
    acc = sdp.Accountant().compose("grr:eps0=2,d=16", n=1000, count=3, participation_limit=2)
    acc = acc.compose("general:eps0=1", n=500, count=2)
    x, y = acc.plot(delta=1e-6).axes[0].lines[0].get_data()
    assert x.tolist() == [1, 2, 3, 4, 5] and y[-1] == acc.epsilon(delta=1e-6)
    assert y[0] == sdp.Accountant().compose("grr:eps0=2,d=16", n=1000).epsilon(delta=1e-6)
    assert y[1] == y[2], "a third round costs nobody anything"


def test_bad_input_of_plot(sweep: Sweep, drawn: Any) -> None:
    for call, words in (
        (lambda: sweep.plot(most=0), "most must"),
        (lambda: sweep.plot(most=1.5), "most must"),
        (lambda: drawn["estimate"][0].plot(most=0), "most must"),
        (lambda: drawn["estimate"][0].plot(level=2), "level must"),
        (lambda: drawn["batches"][0].plot(epsilon=-1), "epsilon must"),
        (lambda: drawn["account"][0].plot(delta=1e-6, epsilon="x"), "epsilon must"),
        (lambda: sdp.Accountant().plot(delta=1e-6), "accountant must hold a round"),
    ):
        with pytest.raises(sdp.ParameterError, match=rf"^{words}[^\n]*\.$"):
            call()


@pytest.mark.parametrize("label", ["a", "a rather long label of item"])
def test_one_item_far_above_the_others_is_cut(label: str) -> None:
    """The others fill the axes, and the value of the one is written."""
    names = (*(f"{label}{i}" for i in range(12)), "other")
    value = np.append(np.linspace(0.004, 0.006, 12), 0.94)
    found = Estimate(value=value, stderr=np.full(13, 0.001), n=10_000, names=names)
    axes = found.plot().axes[0]
    low, high = axes.get_xlim()
    assert -0.005 < low <= 0.0 and 0.007 < high < 0.02
    assert any(text.get_text().startswith("0.94") for text in axes.texts)
    assert any(text.get_text() == "→" for text in axes.texts)
    assert "the bar of other is cut" in " ".join(
        text.get_text() for text in found.plot().findobj(match=lambda x: hasattr(x, "get_text"))
    )
    even = Estimate(value=np.array([0.3, 0.3, 0.4]), stderr=np.full(3, 0.01), n=100).plot().axes[0]
    assert even.get_xlim()[1] > 0.4 and len(even.texts) == 3
