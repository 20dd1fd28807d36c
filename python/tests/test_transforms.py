"""grad, vmap, jvp and their kin. Numbers are JAX's (jax 0.10, float32)."""

import dataclasses
from typing import NamedTuple

import neap as np
import pytest


def loss(w, x):
    return np.sum(np.tanh(x @ w)) ** 2


W = np.array([0.5, -0.25])
X = np.array([[1.0, 2.0], [3.0, -1.0]])


def close(x, expected, tolerance=1e-5):
    assert np.allclose(x, np.array(expected), rtol=tolerance, atol=tolerance), (x, expected)


def test_grad():
    close(np.grad(loss)(W, X), [2.5255904, 3.5512223])
    value, gradient = np.value_and_grad(loss)(W, X)
    close(value, 0.8861879)
    close(gradient, [2.5255904, 3.5512223])
    both = np.grad(loss, argnums=(0, 1))(W, X)
    assert both[0].shape == (2,) and both[1].shape == (2, 2)
    close(np.grad(loss, argnums=-1)(W, X), both[1])


def test_grad_of_trees():
    def f(params, x):
        return np.sum(params["w"] * x + params["b"][0])

    g = np.grad(f)({"w": np.ones(3), "b": [np.array(1.0)]}, np.arange(3.0))
    assert g["w"].tolist() == [0.0, 1.0, 2.0]
    assert g["b"][0].item() == 3.0


def test_grad_with_aux():
    def f(x):
        return np.sum(x**2), {"twice": x * 2, "count": np.array(3)}

    gradient, aux = np.grad(f, has_aux=True)(np.arange(3.0))
    assert gradient.tolist() == [0.0, 2.0, 4.0]
    assert aux["twice"].tolist() == [0.0, 2.0, 4.0]
    (value, aux), gradient = np.jit(np.value_and_grad(f, has_aux=True))(np.arange(3.0))
    assert value.item() == 5.0 and aux["count"].item() == 3 and gradient.tolist() == [0.0, 2.0, 4.0]


def test_grad_of_other_arguments():
    def f(x, mode, *, scale):
        return np.sum(x) * scale if mode == "sum" else np.prod(x)

    assert np.grad(f)(np.ones(2), "sum", scale=3).tolist() == [3.0, 3.0]


def test_what_has_no_gradient():
    with pytest.raises(np.UserError):
        np.grad(lambda x: x)(np.ones(3))
    with pytest.raises(TypeError, match="has_aux"):
        np.grad(lambda x: (x, x))(np.array(1.0))
    with pytest.raises(np.UserError):
        np.grad(lambda x: x * 1.0)(np.array(1))
    with pytest.raises(TypeError, match="argnums"):
        np.grad(lambda x: x, argnums=3)(np.array(1.0))


def test_jvp_vjp_linearize():
    f = lambda x: {"s": np.sin(x), "n": np.sum(x)}  # noqa: E731
    out, tangent = np.jvp(f, (np.array([0.0, 1.0]),), (np.array([1.0, 1.0]),))
    close(out["s"], [0.0, 0.84147096])
    close(tangent["s"], [1.0, 0.5403023])
    assert tangent["n"].item() == 2.0
    out, pullback = np.vjp(f, np.array([0.0, 1.0]))
    (cotangent,) = pullback({"s": np.ones(2), "n": np.array(1.0)})
    close(cotangent, [2.0, 1.5403023])
    out, linear = np.linearize(f, np.array([0.0, 1.0]))
    close(linear(np.array([0.0, 1.0]))["s"], [0.0, 0.5403023])
    out, pullback, aux = np.vjp(lambda x: (np.sin(x), x * 3), np.array(0.0), has_aux=True)
    assert pullback(np.array(1.0))[0].item() == 1.0 and aux.item() == 0.0


def test_vmap():
    batch = np.arange(6.0).reshape(3, 2)
    assert np.vmap(np.sum)(batch).tolist() == [1.0, 5.0, 9.0]
    assert np.vmap(lambda p, x: p["w"] * x + p["b"], in_axes=({"w": None, "b": 0}, 0))(
        {"w": np.array(2.0), "b": np.arange(3.0)}, np.ones(3)
    ).tolist() == [2.0, 3.0, 4.0]
    assert np.vmap(lambda x: x * 2, in_axes=1, out_axes=1)(batch).tolist() == (batch * 2).tolist()
    a, b = np.vmap(lambda x: (x, np.sum(x)), out_axes=(1, 0))(batch)
    assert a.shape == (2, 3) and b.shape == (3,)
    assert np.vmap(np.grad(loss), in_axes=(None, 0))(W, X[:, None]).shape == (2, 2)
    with pytest.raises(ValueError, match="in_axes"):
        np.vmap(lambda x, y: x, in_axes=(0,))(batch, batch)
    with pytest.raises(np.UserError):
        np.vmap(lambda x, y: x + y)(batch, np.ones(4))


def test_jacobians():
    f = lambda x: np.array([x[0] * x[1], np.sin(x[0])])  # noqa: E731
    x = np.array([1.0, 2.0])
    expected = [[2.0, 1.0], [0.5403023, 0.0]]
    close(np.jacfwd(f)(x), expected)
    close(np.jacrev(f)(x), expected)
    close(np.hessian(lambda x: np.sum(x**3))(x), [[6.0, 0.0], [0.0, 12.0]])
    tree = np.jacrev(lambda p: {"y": p["a"] * p["b"]})({"a": np.array(2.0), "b": np.array(3.0)})
    assert tree["y"]["a"].item() == 3.0 and tree["y"]["b"].item() == 2.0
    pair = np.jacfwd(lambda a, b: a * b, argnums=(0, 1))(np.array(2.0), np.array(3.0))
    assert [p.item() for p in pair] == [3.0, 2.0]


def test_transforms_compose():
    f = np.jit(np.vmap(np.grad(np.jit(lambda x: np.sin(x) * x))))
    close(f(np.array([0.0, 1.0])), [0.0, 1.3817732])
    close(np.grad(np.grad(np.grad(lambda x: x**4)))(np.array(2.0)), 48.0)


def test_checkpoint():
    f = lambda x: np.sum(np.sin(np.sin(x)))  # noqa: E731
    x = np.arange(3.0)
    close(np.grad(np.checkpoint(f))(x), np.grad(f)(x))
    close(np.grad(np.checkpoint(f, policy=np.checkpoint_policies.dots_saveable))(x), np.grad(f)(x))
    named = np.checkpoint(
        lambda x: np.sum(np.sin(np.checkpoint_name(np.sin(x), "inner"))),
        policy=np.checkpoint_policies.save_only_these_names("inner"),
    )
    close(np.grad(named)(x), np.grad(f)(x))


def test_custom_jvp():
    @np.custom_jvp
    def f(x, y):
        return np.sin(x) * y

    @f.defjvp
    def rule(primals, tangents):
        x, y = primals
        return f(x, y), 10.0 * tangents[0] + tangents[1]

    assert f(np.array(0.0), np.array(2.0)).item() == 0.0
    assert np.grad(f, argnums=(0, 1))(np.array(0.0), np.array(2.0))[0].item() == 10.0
    assert np.jit(np.grad(f))(np.array(0.0), np.array(2.0)).item() == 10.0


def test_custom_vjp():
    @np.custom_vjp
    def f(x, y):
        return x * y

    f.defvjp(lambda x, y: (x * y, {"x": x}), lambda residuals, ct: (ct * 100.0, None))
    assert f(np.array(2.0), np.array(3.0)).item() == 6.0
    g = np.grad(f, argnums=(0, 1))(np.array(2.0), np.array(3.0))
    assert [x.item() for x in g] == [100.0, 0.0]
    assert np.jit(np.grad(lambda x: f(x, x)))(np.array(2.0)).item() == 100.0


class Point(NamedTuple):
    x: np.Array
    y: np.Array


@dataclasses.dataclass(frozen=True)
class Model:
    weights: list
    bias: np.Array
    name: str = dataclasses.field(default="model", metadata={"static": True})


def test_pytrees():
    model = Model([np.ones(2), np.ones(3)], np.array(1.0))
    leaves, treedef = np.tree_flatten(model)
    assert len(leaves) == 3
    again = treedef.unflatten(leaves)
    assert isinstance(again, Model) and again.name == "model"
    doubled = np.tree_map(lambda a, b: a + b, model, model)
    assert doubled.bias.item() == 2.0
    assert np.tree_structure({"b": 1, "a": (2, None)}) == np.tree_structure({"a": (0, None), "b": 0})
    assert np.tree_leaves({"b": 1, "a": (2, None)}) == [2, 1]
    assert np.tree.map(lambda p: p * 2, Point(1, 2)) == Point(2, 4)
    with pytest.raises(ValueError):
        np.tree_map(lambda a, b: a, [1, 2], [1])
    g = np.jit(np.grad(lambda m, x: np.sum(m.weights[0]) * x + m.bias))(model, 3.0)
    assert isinstance(g, Model) and g.weights[0].tolist() == [3.0, 3.0] and g.weights[1].tolist() == [0.0] * 3


def test_registered_classes():
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    np.register_pytree_node(Pair, lambda p: ((p.a,), p.b), lambda b, children: Pair(children[0], b))
    out = np.jit(lambda p: Pair(p.a * 2, p.b))(Pair(np.array(1.0), "static"))
    assert out.a.item() == 2.0 and out.b == "static"


def test_control_flow():
    def step(carry, x):
        return {"total": carry["total"] + x}, carry["total"] * 2

    last, ys = np.scan(step, {"total": 0.0}, np.arange(4.0))
    assert last["total"].item() == 6.0 and ys.tolist() == [0.0, 0.0, 2.0, 6.0]
    assert np.scan(lambda c, _: (c * 2, None), np.array(1.0), length=5)[0].item() == 32.0
    assert np.fori_loop(0, 5, lambda i, x: x + i, 0).item() == 10
    assert np.jit(lambda n: np.fori_loop(0, n, lambda i, x: x + i, 0))(np.array(5)).item() == 10
    out = np.while_loop(lambda s: s[0] < 100, lambda s: (s[0] * 2, s[1] + 1), (np.array(1), 0))
    assert [x.item() for x in out] == [128, 7]
    pick = np.jit(lambda p, x: np.cond(p, lambda x: x + 1, lambda x: x - 1, x))
    assert pick(True, 1.0).item() == 2.0 and pick(False, 1.0).item() == 0.0
    assert np.switch(2, [lambda x: x, lambda x: x * 2, lambda x: x * 3], np.array(5)).item() == 15
    assert np.map(lambda x: x**2, np.arange(5.0), batch_size=2).tolist() == [0.0, 1.0, 4.0, 9.0, 16.0]
    assert np.map(lambda x: x**2, np.arange(5.0)).tolist() == [0.0, 1.0, 4.0, 9.0, 16.0]
    assert np.associative_scan(lambda a, b: a + b, np.arange(5)).tolist() == [0, 1, 3, 6, 10]
    close(np.grad(lambda x: np.scan(lambda c, _: (c * x, None), 1.0, length=3)[0])(np.array(2.0)), 12.0)


def test_wrong_carries():
    with pytest.raises(np.UserError, match="carry"):
        np.scan(lambda c, x: ((c, c), x), np.array(0.0), np.arange(3.0))
    with pytest.raises(TypeError, match="carry"):
        np.scan(lambda c, x: c, np.array(0.0), np.arange(3.0))
    with pytest.raises(np.UserError, match="structure"):
        np.cond(True, lambda: (1.0, 2.0), lambda: [1.0, 2.0])


def test_graphs():
    text = np.make_graph(lambda x: np.sin(x) + 1)(np.spec((3,)))
    assert "sin" in text
    assert np.eval_shape(lambda x: {"y": x @ x.T}, np.spec((3, 4)))["y"].shape == (3, 3)


def test_random_numbers_are_jax_s():
    key = np.random.key(42)
    close(np.random.normal(key, (3,)), [-0.028305, 0.467121, 0.295703])
    assert np.random.split(key).shape == (2, 2)
    assert np.random.randint(key, (2,), 0, 10).dtype == np.int32
    assert np.random.permutation(key, 5).shape == (5,)
    assert np.random.choice(key, np.arange(10.0), (3,), replace=False).shape == (3,)
    assert np.random.uniform(key).shape == ()
    assert np.random.gamma(key, 2.0, (3,)).shape == (3,)


def test_linalg_and_fft():
    a = np.array([[4.0, 1.0], [1.0, 3.0]])
    q, r = np.linalg.qr(a)
    close(q @ r, a.tolist())
    values, vectors = np.linalg.eigh(a)
    close(vectors @ np.diag(values) @ vectors.T, a.tolist())
    close(a @ np.linalg.solve(a, np.array([1.0, 2.0])), [1.0, 2.0])
    close(np.linalg.inv(a) @ a, [[1.0, 0.0], [0.0, 1.0]])
    assert np.linalg.svd(a).S.shape == (2,)
    close(np.linalg.det(a), 11.0)
    close(np.linalg.norm(a), 5.196152)
    close(np.linalg.lstsq(a, np.array([1.0, 2.0])).x, np.linalg.solve(a, np.array([1.0, 2.0])).tolist())
    x = np.arange(8.0)
    close(np.fft.irfft(np.fft.rfft(x)), x.tolist())
    assert np.fft.fft2(np.ones((4, 4)))[0, 0].item() == 16
