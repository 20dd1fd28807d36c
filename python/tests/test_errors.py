"""Errors: their families, and the line of Python in each."""

import builtins
import inspect

import neap as np
import pytest


def line() -> int:
    """The line of the caller."""
    return inspect.currentframe().f_back.f_lineno


def test_families():
    assert issubclass(np.ShapeError, np.UserError) and issubclass(np.ShapeError, ValueError)
    assert issubclass(np.DTypeError, TypeError)
    assert issubclass(np.IndexError, builtins.IndexError)
    assert issubclass(np.TracerError, TypeError)
    assert issubclass(np.OptionError, ValueError)
    assert issubclass(np.OutOfMemoryError, MemoryError) and issubclass(np.OutOfMemoryError, np.RuntimeError)


def test_an_error_names_the_line():
    with pytest.raises(np.ShapeError) as e:
        here = line() + 1
        np.matmul(np.ones((2, 3)), np.ones((2, 3)))
    assert str(e.value).startswith("matmul: ")
    assert f"[test_errors.py:{here}]" in str(e.value)


def test_an_operator_names_the_line():
    with pytest.raises(np.ShapeError) as e:
        here = line() + 1
        np.ones(3) + np.ones(4)
    assert f"[test_errors.py:{here}]" in str(e.value)


def test_a_traced_function_names_the_line_within():
    def f(x):
        global here
        here = line() + 1
        return x @ np.ones((5, 5))

    with pytest.raises(np.ShapeError) as e:
        np.jit(f)(np.ones((2, 3)))
    assert f"[test_errors.py:{here}]" in str(e.value)
    with pytest.raises(np.ShapeError) as e:
        np.grad(lambda x: np.scan(lambda c, _: (f(c), None), x, length=3)[0].sum())(np.ones((2, 3)))
    assert f"[test_errors.py:{here}]" in str(e.value)


def test_lines_are_in_plans():
    def f(x):
        y = np.sin(x)
        return np.sum(y * y, axis=0)

    text = str(np.jit(f).plan(np.spec((100, 100))))
    assert "test_errors.py:" in text


def test_python_s_own_exceptions_pass():
    class Mine(Exception):
        pass

    def f(x):
        raise Mine("as it is")

    for transform in (np.jit(f), np.grad(f), np.vmap(f), lambda x: np.scan(lambda c, _: f(c), x, length=2)):
        with pytest.raises(Mine, match="as it is") as e:
            transform(np.ones(3))
        assert any(entry.name == "f" for entry in e.traceback)
    assert np.jit(lambda x: x + 1)(np.ones(2)).tolist() == [2.0, 2.0]


def test_a_tracer_has_no_number():
    with pytest.raises(np.TracerError, match="test_errors.py"):
        np.jit(lambda x: x if x > 0 else -x)(np.array(1.0))
    with pytest.raises(np.TracerError):
        np.jit(float)(np.array(1.0))
    with pytest.raises(np.TracerError, match="where"):
        np.jit(lambda x: x[x > 0])(np.ones(3))


def test_a_tracer_does_not_escape():
    kept = []
    np.jit(lambda x: kept.append(x) or x)(np.array(1.0))
    with pytest.raises(np.TracerError, match="ended"):
        kept[0] + 1


def test_wrong_arguments():
    with pytest.raises(TypeError, match="list"):
        np.sin([1.0, 2.0])
    with pytest.raises(TypeError, match="static_argnames"):
        np.jit(lambda x, n: x)(np.ones(2), "text")
    with pytest.raises(TypeError):
        np.jit(3)
    with pytest.raises(np.OptionError):
        np.jit(lambda x: x, pipeline="fast")
    with pytest.raises(np.OptionError):
        np.jit(lambda x: x, memory_budget="64 apples")
