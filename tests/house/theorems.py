"""The theorem map: every item of the paper, the code that holds it, and the test that checks it.

A row names code by its public name (``GRR``) or as ``path.py:symbol`` below ``src/shuffledp``, and tests as
``path.py:function`` below ``tests``; ``tests/test_pages.py`` fails where one of them does not exist, so rename it here
when you rename it there.
"""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from operator import attrgetter
from typing import NamedTuple

import shuffledp as sdp
from house.typeset import typeset
from reference.places import ROOT
from shuffledp.bounds import BOUNDS


class Item(NamedTuple):
    """One item of the paper; bounds are names that ``bound=`` takes."""

    paper: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    bounds: tuple[str, ...] = ()


_RATIO = "VariationRatio"

ITEMS = (
    Item(
        "Theorem 4.1 (divergence upper bound), as printed",
        ("VariationRatio.published_pair", "bounds/dominating_pairs.py:published"),
        (
            "contract/test_counterexample.py:test_the_published_bound_reproduces_the_published_number_and_says_so",
            "contract/test_golden.py:test_golden",
        ),
        ("variation-ratio-published",),
    ),
    Item(
        "Theorem 4.2 (analytic form), repaired and as printed",
        ("bounds/closed_forms.py:analytic", "bounds/closed_forms.py:analytic_published"),
        (
            "bounds/test_formulas.py:test_closed_forms_are_never_below_the_exact_eps",
            "bounds/test_check_values.py:test_closed_forms_of_the_paper",
        ),
        ("analytic", "analytic-published"),
    ),
    Item(
        "Theorem 4.3 (asymptotic form), repaired and as printed",
        ("bounds/closed_forms.py:asymptotic", "bounds/closed_forms.py:asymptotic_published"),
        (
            "bounds/test_formulas.py:test_closed_forms_are_never_below_the_exact_eps",
            "bounds/test_check_values.py:test_closed_forms_of_the_paper",
        ),
        ("asymptotic", "asymptotic-published"),
    ),
    Item(
        "Lemma 4.4 (mixture decompositions)",
        ("VariationRatio.masses",),
        ("mechanisms/test_general.py:test_the_round_is_that_of_the_parameters",),
    ),
    Item(
        "Lemma 4.5 (divergence reduction via mixture), repaired",
        ("VariationRatio.pair",),
        (
            "contract/test_counterexample.py:test_our_bounds_are_above_the_truth",
            "contract/test_mechanisms.py:test_variation_ratio_is_never_below_brute_force",
        ),
    ),
    Item(
        "Lemma 4.6 (divergence does not decrease with beta)",
        ("VariationRatio.pair",),
        ("contract/test_bounds.py:test_monotone_in_n_delta_p_beta_and_q",),
    ),
    Item(
        "Theorem 4.7 (variation-ratio reduction), repaired",
        ("VariationRatio.pair", "bounds/dominating_pairs.py:variation_ratio"),
        (
            "contract/test_chain.py:test_chain_on_random_randomizers",
            "paper/test_exact.py:test_the_counter_example_is_the_worst_dataset_and_the_repaired_law_covers_it",
        ),
        ("variation-ratio",),
    ),
    Item(
        "Theorem 4.8 (divergence as an expectation), Algorithm 1 (search of the upper bound)",
        ("numerics/curve.py:PairCurve", "numerics/solve.py:solve"),
        ("numerics/test_golden.py:test_golden", "numerics/test_solve.py:test_safe_side_and_close"),
    ),
    Item(
        "Theorem 5.1 (lower bound), Algorithm 3 (its search)",
        ("numerics/pair.py:two_counts", "numerics/solve.py:solve"),
        (
            "contract/test_mechanisms.py:test_no_sound_bound_is_below_a_dataset",
            "paper/test_numbers.py:test_only_rows_without_a_remainder_are_tight",
        ),
        ("variation-ratio-lower",),
    ),
    Item(
        "Theorem 6.1 and Algorithm 2 (parallel composition)",
        (
            "Parallel",
            "HierarchicalGRR",
        ),
        ("mechanisms/test_composite.py:test_parallel_listing", "mechanisms/test_composite.py:test_figure_5"),
    ),
    Item(
        "Table 2 (eps0-LDP randomizers)",
        (
            "Laplace",
            "PrivUnit",
            "GRR",
            "Unary",
            "Subset",
            "LocalHash",
            "Hadamard",
            "SamplingRappor",
            "Wheel",
        ),
        ("contract/test_mechanisms.py:test_variation_ratio_is_never_below_brute_force",),
    ),
    Item(
        "Table 3 (metric privacy)",
        (
            "MetricGeneral",
            "MetricLaplace",
            "PlanarCells",
            "PlanarLaplace",
        ),
        ("contract/test_mechanisms.py:test_variation_ratio_is_never_below_brute_force",),
    ),
    Item(
        "Table 4 (multi-message protocols)",
        (
            "BalcerCoin",
            "BalcerCheu",
            "CheuZhilyaev",
            "BallsIntoBins",
            "MixDump",
        ),
        ("mechanisms/test_multimessage.py:test_golden",),
    ),
    Item(
        "Table 5 (general, n = 1e4 to 1e8)",
        ("General", "paper/speed.py:table"),
        ("contract/test_golden.py:test_table_5", "paper/test_numbers.py:test_table_5"),
        ("general",),
    ),
    Item(
        "Table 6 (more eps0-LDP randomizers)",
        (
            "Duchi",
            "Harmony",
            "PrivSet",
        ),
        ("contract/test_mechanisms.py:test_variation_ratio_is_never_below_brute_force",),
    ),
    Item(
        "Figures 1 and 2 (single message)", ("paper/panels.py:single_panel",), ("paper/test_numbers.py:test_figure_1",)
    ),
    Item("Figure 3 (Cheu and Zhilyaev)", ("paper/panels.py:cheu_panel",), ("paper/test_numbers.py:test_figure_3",)),
    Item("Figure 4 (balls into bins)", ("paper/panels.py:balls_panel",), ("paper/test_numbers.py:test_figure_4",)),
    Item("Figure 5 (range queries)", ("paper/panels.py:levels_panel",), ("paper/test_numbers.py:test_figure_5",)),
    Item(
        "Section 5, which bounds are exactly tight",
        ("paper/tightness.py:table",),
        ("paper/test_numbers.py:test_only_rows_without_a_remainder_are_tight",),
    ),
    Item(
        "errata, in exact fractions",
        ("paper/errata.py:table", "paper/exact.py:worst"),
        ("paper/test_exact.py:test_errata_in_fractions",),
    ),
    Item(
        "baselines: clone, stronger clone (Feldman et al.), EFMRTT19",
        (
            "bounds/dominating_pairs.py:clone",
            "bounds/dominating_pairs.py:stronger_clone",
            "bounds/closed_forms.py:efmrtt19",
        ),
        (
            "bounds/test_formulas.py:test_clone_by_definition",
            "bounds/test_formulas.py:test_bounds_from_the_budget_alone",
        ),
        ("clone", "clone-closed", "efmrtt19"),
    ),
    Item(
        "baselines: privacy blanket (Balle et al.), exact and by tails",
        ("numerics/matrix.py:BlanketPairs", "bounds/blanket_tails.py:hoeffding"),
        (
            "numerics/test_matrix.py:test_blanket_is_the_largest_of_all_pairs",
            "bounds/test_formulas.py:test_blanket_tails_by_definition",
        ),
        ("blanket", "blanket-hoeffding", "blanket-bennett"),
    ),
    Item(
        "baselines: what the authors of protocols claim",
        ("bounds/protocol_claims.py:cheu_zhilyaev", "bounds/protocol_claims.py:balls_search"),
        ("bounds/test_formulas.py:test_claims_of_the_protocols",),
        ("cheu-zhilyaev", "balls-formula", "balls-search"),
    ),
    Item(
        "beside the paper: a dataset in which the others all hold one value",
        ("numerics/datasets.py:constant_datasets",),
        ("numerics/test_matrix.py:test_two_counts_are_below_whole_datasets",),
        ("constant-dataset-lower",),
    ),
    Item(
        "beside the paper: [the swap bound](swap.md), from the law and from eps0",
        (
            "numerics/swap/sums.py:log_upper",
            "numerics/swap/family.py:SwapSet",
            "mechanisms/known/eps0_vertices.py:worst_laws",
        ),
        (
            "numerics/test_swap.py:test_never_below_the_truth_over_all_datasets",
            "numerics/test_swap.py:test_every_step_of_the_proof",
            "mechanisms/test_eps0_vertices.py:test_no_randomizer_with_this_budget_exceeds_it",
        ),
        ("swap", "swap-general"),
    ),
    Item(
        "beside the paper: [designs for the shuffle model](designs.md), the window as GRR, the floors",
        ("Window", "Binomial", "PoissonSum"),
        (
            "mechanisms/test_window.py:test_overlapping_windows_are_dominated_by_types_of_grr",
            "mechanisms/test_window.py:test_no_dataset_violates_a_bound_of_grr",
            "test_designs.py:test_no_random_mechanism_is_below_the_floor",
            "test_designs.py:test_theorem_m_and_the_constant_crowd",
        ),
    ),
    Item(
        "beside the paper: composition of rounds, Renyi divergence",
        ("Accountant", "numerics/composition/conversions.py:from_curve"),
        (
            "composing/test_accountant.py:test_two_rounds_of_every_dataset",
            "composing/test_accountant.py:test_one_user_is_randomized_response_exactly",
        ),
    ),
    Item(
        "beside the paper: missing users, different budgets",
        ("accounting/crowd.py:Crowd", "amplify_mixed"),
        (
            "accounting/test_crowd.py:test_a_fixed_total_loses_the_shares_of_the_missing",
            "accounting/test_mixed.py:test_never_below_the_truth",
        ),
    ),
)


def place_of(code: str) -> str:
    """``path.py:symbol`` of a public name, of one of its methods, or of what is written so already.

    >>> place_of("GRR")
    'mechanisms/categorical/grr.py:GRR'
    """
    if ":" in code:
        return code
    home = getattr(sdp, code.partition(".")[0]).__module__
    return f"{home.removeprefix('shuffledp.').replace('.', '/')}.py:{code}"


def code_exists(code: str) -> bool:
    """Whether a public name or ``path.py:symbol`` is in the library."""
    try:
        path, _, symbol = place_of(code).partition(":")
        module = importlib.import_module("shuffledp." + path.removesuffix(".py").replace("/", "."))
        return attrgetter(symbol)(module) is not None
    except (ImportError, AttributeError):
        return False


@cache
def _functions(path: str) -> frozenset[str]:
    file = ROOT / "tests" / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def test_exists(place: str) -> bool:
    """Whether ``path.py:function`` is a test."""
    path, _, name = place.partition(":")
    return name.startswith("test_") and name in _functions(path)


test_exists.__test__ = False  # type: ignore[attr-defined]  # its name is not that of a test


def missing() -> list[str]:
    """Everything that the map names and that does not exist."""
    return [
        *(place for item in ITEMS for place in item.code if not code_exists(place)),
        *(f"tests/{place}" for item in ITEMS for place in item.tests if not test_exists(place)),
        *(f"bound {name}" for item in ITEMS for name in item.bounds if name not in BOUNDS),
    ]


def theorems_in(text: str) -> set[str]:
    """The theorems, lemmas, tables and algorithms that a text names, lists such as "Theorems 4.1, 4.7" included.

    >>> sorted(theorems_in("Theorems 4.1, 4.8 and Algorithm 1"))
    ['Algorithm 1', 'Theorem 4.1', 'Theorem 4.8']
    """
    found = set()
    for kind, numbers in re.findall(r"(Theorem|Lemma|Algorithm|Table|Figure)s? ((?:\d(?:\.\d)?(?:, | and )?)+)", text):
        found |= {f"{kind} {number}" for number in re.findall(r"\d(?:\.\d)?", numbers)}
    return found


def table() -> str:
    """The map as a Markdown table."""

    def listed(words: list[str]) -> str:
        return "<br>".join(f"`{word}`" for word in words)

    rows = [
        f"| {typeset(item.paper)} | {listed([*map(place_of, item.code), *(f'bound={name}' for name in item.bounds)])} "
        f"| {listed([*item.tests])} |"
        for item in ITEMS
    ]
    return "\n".join(["| paper | code in `src/shuffledp` | tests in `tests` |", "|---|---|---|", *rows])
