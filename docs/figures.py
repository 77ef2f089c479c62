"""The figures of the guide, one function each: `.. plot:: figures.py name` shows one on a page."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, make_moons

from edgewise import (
    UCB,
    AdaBoostMH,
    BoostedFactorization,
    Exhaustive,
    Lazy,
    Product,
    RankBoost,
    Ratings,
    Stump,
    ThompsonSampling,
    Tree,
    theory,
)

BLUE, ORANGE, GREEN, GRAY, INK = "#2f7fb5", "#d8732a", "#3c9160", "#9aa0a6", "#333333"
PAIR = [BLUE, ORANGE]


def grid_of(X, steps=220):
    """Return a fine grid of points around X, and its two axes."""
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across, up = (np.linspace(a, b, steps) for a, b in zip(low, high, strict=True))
    return np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2), across, up


def draw_regions(ax, X, y, scores, across, up, sizes=14.0):
    """Draw the sign and the size of the scores behind the points."""
    ax.contourf(
        across, up, np.tanh(scores.reshape(len(up), -1)), levels=np.linspace(-1, 1, 9),
        cmap="PuOr", alpha=0.55,
    )  # fmt: skip
    ax.contour(across, up, scores.reshape(len(up), -1), levels=[0], colors=[INK], linewidths=1)
    colors = np.where(y > 0, "#5b4a9b", "#c46210")
    ax.scatter(*X.T, c=colors, s=sizes, edgecolors="white", linewidths=0.5)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)


def rounds():
    """A vote of thresholds grows; rows that it still has wrong weigh more."""
    X, y = make_moons(140, noise=0.18, random_state=3)
    points, across, up = grid_of(X)
    _, axes = plt.subplots(1, 4, figsize=(11, 3))
    for ax, n_rounds in zip(axes, (1, 3, 10, 80), strict=True):
        model = AdaBoostMH("stump", n_rounds=n_rounds).fit(X, y)
        weights = np.exp(-np.where(y > 0, 1, -1) * model.decision_function(X))
        sizes = 12 + 900 * np.minimum(weights / weights.sum(), 0.1)
        draw_regions(ax, X, y, model.decision_function(points), across, up, sizes)
        ax.set_title(f"{n_rounds} round{'s' * (n_rounds > 1)}", fontsize=11)


def edge():
    """The edge of every threshold of one column, from the signed weights of the rows."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 10, 16))
    y = np.where(x > 4.3, 1, -1)
    y[[3, 12]] *= -1
    w = np.full(16, 1 / 16)
    cuts = (x[1:] + x[:-1]) / 2
    edges = np.array([(w * y * np.where(x >= cut, 1, -1)).sum() for cut in cuts])
    best = cuts[edges.argmax()]
    _, (top, bottom) = plt.subplots(2, 1, figsize=(7, 3.8), sharex=True, height_ratios=[1, 1.5])
    top.vlines(x, 0, w * y, colors=np.where(y > 0, BLUE, ORANGE), linewidth=3)
    top.axhline(0, color=GRAY, linewidth=0.8)
    top.set_ylabel("signed weight\n$w_i\\, y_i$")
    top.set_yticks([])
    bottom.step(cuts, edges, where="mid", color=INK)
    bottom.plot(best, edges.max(), "o", color=GREEN)
    bottom.annotate(
        f"the best rule: $x \\geq {best:.1f}$, edge {edges.max():.2f}", (best, edges.max()),
        xytext=(best + 0.4, edges.max() - 0.02), color=GREEN,
    )  # fmt: skip
    bottom.set(xlabel="value of the column, and threshold", ylabel="edge $\\gamma$")
    for ax in (top, bottom):
        ax.axvline(best, color=GREEN, linewidth=1, linestyle=":")


def step():
    """The energy of a round as a function of its step."""
    alpha = np.linspace(0, 1.6, 200)
    _, ax = plt.subplots(figsize=(6, 3.2))
    for gamma, color in ((0.2, GRAY), (0.4, ORANGE), (0.6, BLUE)):
        energy = (1 + gamma) / 2 * np.exp(-alpha) + (1 - gamma) / 2 * np.exp(alpha)
        ax.plot(alpha, energy, color=color, label=f"edge {gamma}")
        ax.plot(theory.step(gamma), theory.energy(gamma), "o", color=color)
    ax.axhline(1, color=GRAY, linewidth=0.8)
    ax.set(xlabel="step $\\alpha$", ylabel="energy $Z$", ylim=(0.75, 1.3))
    ax.legend()


def bound():
    """The training error and what bounds it, round by round."""
    X, y = load_breast_cancer(return_X_y=True)
    history = AdaBoostMH("stump", n_rounds=120).fit(X, y).history_
    _, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.1))
    left.semilogy(history["bound"], color=ORANGE, label="bound: product of the energies")
    left.semilogy(np.where(history["train_error"] > 0, history["train_error"], np.nan),
                  color=BLUE, label="training error", drawstyle="steps-post")  # fmt: skip
    left.set(xlabel="round", ylabel="share of the rows")
    left.legend(loc="upper right")
    right.plot(history["edge"], color=GREEN)
    right.set(xlabel="round", ylabel="edge of the round", ylim=(0, None))


def margins():
    """Margins go on growing after the training error is zero."""
    X, y = load_breast_cancer(return_X_y=True)
    _, ax = plt.subplots(figsize=(6, 3.2))
    for n_rounds, color in ((5, GRAY), (40, ORANGE), (400, BLUE)):
        found = AdaBoostMH("stump", n_rounds=n_rounds).fit(X, y).margins(X, y)
        ax.plot(*theory.margin_distribution(found), drawstyle="steps-post", color=color,
                label=f"{n_rounds} rounds: {np.mean(found <= 0):.1%} wrong")  # fmt: skip
    ax.axvline(0, color=GRAY, linewidth=0.8)
    ax.set(xlabel="margin", ylabel="share of the rows below")
    ax.legend()


def losses():
    """What a mistake costs, and how much it weighs, by three losses."""
    m = np.linspace(-3, 3, 200)
    _, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.1))
    left.plot(m, np.exp(-m), color=ORANGE, label="exponential")
    left.plot(m, np.log1p(np.exp(-m)) / np.log(2), color=BLUE, label="logistic / ln 2")
    left.plot(m, (m <= 0).astype(float), color=GRAY, drawstyle="steps-mid", label="a mistake")
    left.set(xlabel="score of the right sign, $y f$", ylabel="loss", ylim=(0, 6))
    left.legend()
    right.plot(m, np.exp(-m), color=ORANGE, label="exponential: without limit")
    right.plot(m, 1 / (1 + np.exp(m)), color=BLUE, label="logistic: at most 1")
    right.set(xlabel="score of the right sign, $y f$", ylabel="weight", ylim=(0, 6))
    right.legend()


def learners():
    """The same rows by a vote of stumps, of products and of trees."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (260, 2))
    y = ((X[:, 0] * X[:, 1] > 0) ^ (rng.random(260) < 0.03)).astype(int)
    points, across, up = grid_of(X * 0.9)
    made = {
        "stumps": Stump(),
        "products of two stumps": Product(Stump(), n_terms=2),
        "trees of four leaves": Tree(Stump(), max_leaf_nodes=4),
    }
    _, axes = plt.subplots(1, 3, figsize=(9.6, 3.3))
    for ax, (name, learner) in zip(axes, made.items(), strict=True):
        model = AdaBoostMH(learner, n_rounds=12).fit(X, y)
        draw_regions(ax, X, y, model.decision_function(points), across, up, 10)
        ax.set_title(f"{name}: {1 - model.score(X, y):.0%} wrong", fontsize=11)


def haar():
    """The five kinds of Haar filters on an image of a digit."""
    from sklearn.datasets import load_digits

    image = load_digits().images[12]
    fields = {  # left, top, width, height, sign
        "two stripes across": [(1, 1, 5, 3, 1), (1, 4, 5, 3, -1)],
        "two stripes down": [(1, 1, 3, 5, 1), (4, 1, 3, 5, -1)],
        "three stripes across": [(1, 0, 6, 2, 1), (1, 2, 6, 2, -1), (1, 4, 6, 2, 1)],
        "three stripes down": [(1, 1, 2, 6, 1), (3, 1, 2, 6, -1), (5, 1, 2, 6, 1)],
        "checkerboard": [(1, 1, 3, 3, 1), (4, 1, 3, 3, -1), (1, 4, 3, 3, -1), (4, 4, 3, 3, 1)],
    }
    _, axes = plt.subplots(1, 5, figsize=(10, 2.4))
    for ax, (name, parts) in zip(axes, fields.items(), strict=True):
        ax.imshow(image, cmap="gray_r", alpha=0.65)
        for left, top, width, height, sign in parts:
            color = BLUE if sign > 0 else ORANGE
            place = left - 0.5, top - 0.5
            ax.add_patch(plt.Rectangle(place, width, height, color=color, alpha=0.55))
        ax.set_title(name, fontsize=9.5)
        ax.set_axis_off()


def searches():
    """Test error against the columns looked at, where ten of 600 columns matter."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 600))
    y = (X[:, :10].sum(axis=1) + rng.normal(size=1500) > 0).astype(int)
    made = {
        "exhaustive": (Exhaustive(), GRAY, 60),
        "lazy, 20 random columns": (Lazy(20), ORANGE, 300),
        "UCB, 20 columns": (UCB(20), BLUE, 300),
        "Thompson sampling, 20 columns": (ThompsonSampling(20), GREEN, 300),
    }
    _, ax = plt.subplots(figsize=(6.8, 3.4))
    for name, (search, color, n_rounds) in made.items():
        model = AdaBoostMH("stump", search=search, n_rounds=n_rounds, learning_rate=0.5)
        model.fit(X[:1000], y[:1000], eval_set=(X[1000:], y[1000:]))
        looked = model.history_["columns"].cumsum()
        ax.plot(looked, model.history_["validation"], color=color, label=name)
    ax.set(xlim=(0, 6000), ylim=(0, 0.5), xlabel="columns looked at, over all rounds",
           ylabel="test error")  # fmt: skip
    ax.legend()


def potential():
    """The potentials of ten documents before the first round and after 8."""
    rng = np.random.default_rng(4)
    grades = np.array([2, 2, 1, 1, 1, 0, 0, 0, 0, 0])
    X = (grades[:, None] + rng.normal(0, 1.1, (10, 3))).round(1)
    scores = RankBoost(n_rounds=8, learning_rate=0.7).fit(X, grades).predict(X)
    pairs = [(i, j) for i in range(10) for j in range(10) if grades[j] > grades[i]]
    _, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True)
    for ax, H, title in zip(
        axes, (np.zeros(10), scores), ("before the first round", "after 8 rounds"), strict=True
    ):
        weights = np.array([np.exp(H[i] - H[j]) for i, j in pairs])
        pi = np.zeros(10)
        for (i, j), weight in zip(pairs, weights / weights.sum(), strict=True):
            pi[i] -= weight
            pi[j] += weight
        ax.bar(range(10), pi, color=np.where(pi > 0, BLUE, ORANGE), width=0.7)
        ax.axhline(0, color=GRAY, linewidth=0.8)
        ax.set(title=title, xlabel="grade of the document")
        ax.set_xticks(range(10), grades)
    axes[0].set_ylabel("potential $\\pi$")


def factorization():
    """Rating tables as sums of products of a user value and an item value."""
    rng = np.random.default_rng(2)
    taste, kind = rng.choice([-1, 1], 14), rng.choice([-1, 1], 12)
    mood, tone = rng.normal(size=14), rng.normal(size=12)
    likes = (1.2 * np.outer(taste, kind) + np.outer(mood, tone) > 0).astype(float) * 4 + 1
    order, across = np.argsort(taste, kind="stable"), np.argsort(kind, kind="stable")
    model = BoostedFactorization(
        60, target="binary", threshold=3, factors="signs", learning_rate=0.5, random_state=0
    ).fit(Ratings.from_matrix(likes))
    terms = np.einsum("it,jt->tij", model.user_factors_, model.item_factors_)
    strong = np.argsort(-np.abs(terms).sum(axis=(1, 2)))
    tables = [terms[strong[0]], terms[strong[1]], terms.sum(axis=0), likes - 3]
    titles = ["the strongest term", "the next", "the sum of all", "the ratings"]
    _, axes = plt.subplots(1, 4, figsize=(11, 2.8), gridspec_kw={"wspace": 0.12})
    for ax, table, title, sign in zip(axes, tables, titles, ("+", "... =", "≈", ""), strict=True):
        limit = np.abs(table).max()
        ax.imshow(table[np.ix_(order, across)], cmap="PuOr", vmin=-limit, vmax=limit)
        ax.set(title=title, xticks=[], yticks=[], xlabel="items")
        ax.text(1.12, 0.5, sign, transform=ax.transAxes, fontsize=12, ha="center")
    axes[0].set_ylabel("users")
