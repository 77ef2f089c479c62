"""
Rules about categories
======================

A table of strings goes in as it is. A rule about a categorical column names a subset of its
values, and a product of two rules shows which columns matter only together.
"""

# %%
# Tic-tac-toe: has the first player won? All 5,478 boards that can occur in a game, as nine columns
# of "x", "o" and "empty".

import itertools

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.model_selection import train_test_split

from edgewise import AdaBoostMH, Indicator, Product

LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
SQUARES = [
    f"{row} {column}"
    for row in ("top", "middle", "bottom")
    for column in ("left", "center", "right")
]


def has_won(board, player):
    return any(all(board[place] == player for place in line) for line in LINES)


boards = [
    board
    for board in itertools.product(["x", "o", "empty"], repeat=9)
    if board.count("x") - board.count("o") in (0, 1)
    and not (has_won(board, "x") and has_won(board, "o"))
]
table = pd.DataFrame(boards, columns=SQUARES)
won = ["won" if has_won(board, "x") else "not won" for board in boards]
train, test, won_train, won_test = train_test_split(table, won, random_state=0, stratify=won)
print(table.sample(3, random_state=0).to_string(index=False))

# %%
# One square says little about a line of three. Single tests, products of two and of three:

errors = {}
for n_terms in (1, 2, 3):
    model = AdaBoostMH(Product(Indicator(), n_terms), n_rounds=150)
    model.fit(train, won_train, eval_set=(test, won_test))
    errors[n_terms] = model.history_["validation"]

_, ax = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for n_terms, error in errors.items():
    ax.plot(error, label=f"products of {n_terms}" if n_terms > 1 else "single tests")
ax.set(xlabel="round", ylabel="test error", ylim=(0, None))
ax.legend()

# %%
# The strongest rules of the last model, in words. A bracket is +1 if it holds and -1 if not.

for rule in model.rules(3):
    print(rule)
