"""The executor's part of the demo: it breaks what it says, and shows how that is mended."""

from executor.demo import BROKEN, LIAR, show


def test_the_demo_breaks_and_patches():
    lines = []
    assert show(lines.append, lines.append, lines.append)
    assert any(line.startswith(f"  failed  {BROKEN}") for line in lines)
    assert any(line.startswith("  patch") for line in lines)
    assert any(line.startswith(f"  retry   {LIAR}") for line in lines)
    assert lines[-1].startswith("SUCCEEDED")
