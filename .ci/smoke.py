"""Tries an installed wheel in an environment that has nothing but the wheel and what it needs."""

import importlib.metadata
import importlib.util
import subprocess
import sys
from pathlib import Path


def expect(condition: bool, sentence: str) -> None:
    if not condition:
        sys.exit(f"smoke test: {sentence}")


def main() -> None:
    import shuffledp as sdp

    home = Path(sdp.__file__).parent
    expect(Path(sys.prefix) in home.parents, f"imported from {home}, not from the environment")
    page = ("index.html", "style.css", "app.js", "charts.js", "panels.js", "icon.svg")
    for file in ("py.typed", "programme.schema.json", *(f"web/static/{name}" for name in page)):
        expect((home / file).is_file(), f"the wheel has no {file}")
    for package in ("pytest", "mypy", "ruff", "hypothesis", "pandas", "matplotlib", "dp_accounting", "starlette"):
        expect(importlib.util.find_spec(package) is None, f"{package} is installed and should not be")
    for name in sdp.__all__:
        getattr(sdp, name)

    found = sdp.amplify("grr:eps0=2,d=64", n=1_000_000, delta=1e-8)
    expect(0.0 < found.lower <= found.epsilon < 0.01, f"unexpected answer: {found}")

    command = str(Path(sys.executable).with_name("shuffledp"))
    for arguments in (["--help"], ["--version"], ["amplify", "general:eps0=1", "--n", "1e6", "--delta", "1e-8"]):
        done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
        expect(done.returncode == 0 and bool(done.stdout), f"{' '.join(arguments)} failed: {done.stderr}")

    done = subprocess.run([command, "serve", "--port", "0"], capture_output=True, text=True, check=False)
    expect(done.returncode == 2 and "pip install '.[web]'" in done.stderr, f"serve says {done.stderr!r}")

    print(f"shuffledp {importlib.metadata.version('shuffledp')} works on Python {sys.version.split()[0]}: {found}")


if __name__ == "__main__":
    main()
