"""Pages are cut into prose and blocks of code."""

from __future__ import annotations

from handbook.blocks import Block, blocks, cut

PAGE = """# Title

```python
x = 1
```

<!-- setup
y = 2
-->
<!-- not run: needs Java -->
```python
import pyspark
```

```yaml
# plan.yaml
version: 1
```

```console
$ shuffledp bounds
$ shuffledp amplify general:eps0=1 --n 10 --delta 0.1
shown
```
"""


def test_prose_and_blocks_in_order() -> None:
    parts = cut(PAGE)
    assert [part.kind for part in parts if isinstance(part, Block)] == ["python", "setup", "python", "yaml", "console"]
    assert parts[0] == "# Title\n\n" and len(parts) == 11


def test_lines_reasons_and_files() -> None:
    first, setup, spark, plan, console = blocks(PAGE)
    assert (first.line, setup.line, setup.code) == (3, 7, "y = 2\n")
    assert spark.reason == "needs Java" and not first.reason
    assert plan.file == "plan.yaml" and not first.file
    assert console.commands == [
        ("shuffledp bounds", ""),
        ("shuffledp amplify general:eps0=1 --n 10 --delta 0.1", "shown"),
    ]


def test_a_comment_that_is_no_name_saves_nothing() -> None:
    assert Block("python", "# a remark\nx = 1\n", 1).file == ""
