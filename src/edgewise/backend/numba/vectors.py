"""Vector instructions that compiled kernels are made of, and how kernels are compiled."""

from functools import partial
from typing import Any

from llvmlite import ir
from numba import njit
from numba.core import cgutils, types
from numba.extending import intrinsic

from edgewise.common.compiled import compile_cached

# Inner functions are called from compiled code only and need no way in from Python, which would
# take most of their compile time; what calls them is cached with them.
inner = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
# The same for loops of divisions, which a check for 0 would keep from vector instructions.
in_lanes = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, error_model="numpy")
# A long function that has a single caller: as an inner one it would be optimized twice.
inlined = njit(nogil=True, inline="always")
kernel = compile_cached(nogil=True, no_cfunc_wrapper=True)


@inner
def copy_to(target, source):  # type: ignore[no-untyped-def]
    """Copy an array: Numba takes two seconds to compile an assignment, with its error message."""
    for at in range(len(source)):
        target[at] = source[at]


@inner
def sort_stably(keys, order, spare):  # type: ignore[no-untyped-def]
    """Sort as ``np.argsort(kind="stable")`` does, which takes Numba a second to compile.

    IN keys. OUT order, spare (memory for as many).
    """
    n, width = len(keys), 1
    for at in range(n):
        order[at] = at
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            low, high = start, middle
            for at in range(start, stop):
                takes_high = low == middle
                if low < middle and high < stop:
                    takes_high = keys[order[high]] < keys[order[low]]
                spare[at] = order[high if takes_high else low]
                high += takes_high
                low += not takes_high
        copy_to(order, spare)
        width *= 2


def _vector_at(context: Any, builder: Any, kind: Any, array: Any, index: Any, lanes: int) -> Any:
    """Return a pointer to `lanes` consecutive elements of a flat array."""
    data = context.make_array(kind)(context, builder, array).data
    element = ir.IntType(kind.dtype.bitwidth)
    pointer = builder.gep(data, [index])
    return builder.bitcast(pointer, ir.VectorType(element, lanes).as_pointer()), kind.dtype.bitwidth


def _load(context: Any, builder: Any, kind: Any, array: Any, index: Any, lanes: int) -> Any:
    """Return `lanes` consecutive elements of a flat array, a pointer to them, and their width."""
    pointer, bits = _vector_at(context, builder, kind, array, index, lanes)
    loaded = builder.load(pointer)
    loaded.align = bits // 8
    return loaded, pointer, bits


def _emit_add(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit one vector load of the source and a load, add and store at every target."""
    histogram, signed, *_, width = signature.args
    lanes = 1 << (width.ndim - 1)
    loaded, _, bits = _load(context, builder, signed, arguments[1], arguments[2], lanes)
    for index in arguments[3:-1]:
        value, target, _ = _load(context, builder, histogram, arguments[0], index, lanes)
        builder.store(builder.add(value, loaded), target).align = bits // 8
    return context.get_dummy_value()


# Why intrinsics: written as a loop over lanes, the additions are guarded by an overlap check for
# every row, and the histogram takes three times as long. `width` is an empty array of d dimensions
# that stands for 2**(d - 1) lanes: part of its type, and so known when the code is compiled.


@intrinsic
def add(context: Any, histogram: Any, signed: Any, s: Any, a: Any, width: Any) -> Any:
    """Add the vector at ``signed[s]`` to the one at ``histogram[a]``."""
    index = types.intp
    return types.void(histogram, signed, index, index, width), _emit_add


@intrinsic
def add_4(
    context: Any, histogram: Any, signed: Any, s: Any, a: Any, b: Any, c: Any, d: Any, width: Any
) -> Any:
    """Add the vector at ``signed[s]`` to four vectors of the histogram."""
    index = types.intp
    return types.void(histogram, signed, index, index, index, index, index, width), _emit_add


def _emit_prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit a hint that the cache line of an element will be read soon."""
    kind, _ = signature.args
    data = context.make_array(kind)(context, builder, arguments[0]).data
    byte, integer = ir.IntType(8).as_pointer(), ir.IntType(32)
    hint = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.VoidType(), [byte, integer, integer, integer]),
        "llvm.prefetch.p0",
    )
    pointer = builder.bitcast(builder.gep(data, [arguments[1]]), byte)
    builder.call(hint, [pointer, *(ir.Constant(integer, option) for option in (0, 3, 1))])
    return context.get_dummy_value()


@intrinsic
def prefetch(context: Any, array: Any, index: Any) -> Any:
    """Have the cache line of ``array[index]`` fetched, and do not wait for it."""
    return types.void(array, types.intp), _emit_prefetch


@intrinsic
def count_ones(context: Any, word: Any) -> Any:
    """Return the number of ones of a word."""
    return word(word), lambda context, builder, signature, words: builder.ctpop(words[0])


def _emit_add_reals(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit a load of four doubles, the additions of others, one by one, and a store."""
    out_kind, _, rows_kind, _ = signature.args
    out, o, rows, addresses = arguments
    reals = ir.VectorType(ir.DoubleType(), 4)
    value, target, _ = _load(context, builder, out_kind, out, o, 4)
    total = builder.bitcast(value, reals)
    for address in cgutils.unpack_tuple(builder, addresses):
        loaded, _, _ = _load(context, builder, rows_kind, rows, address, 4)
        total = builder.fadd(total, builder.bitcast(loaded, reals))
    builder.store(builder.bitcast(total, value.type), target).align = 8
    return context.get_dummy_value()


@intrinsic
def add_reals(context: Any, out: Any, o: Any, rows: Any, addresses: Any) -> Any:
    """Add the four doubles at each of some addresses in `rows`, in turn, to those at ``out[o]``."""
    return types.void(out, types.intp, rows, addresses), _emit_add_reals


# Rows whose leaves are found at once.
LEAF_LANES = 64


def _emit_leaves(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit a loop over nodes that keeps the lost leaves of all lanes in registers."""
    codes_kind, _, planes_kind, cuts_kind, lost_kind, _, _, out_kind, *_ = signature.args
    codes, at, planes, cuts, lost, start, stop, out, o, base, width = arguments
    lanes, bits = LEAF_LANES, lost_kind.dtype.bitwidth
    sets, integers = ir.VectorType(ir.IntType(bits), lanes), ir.VectorType(ir.IntType(32), lanes)

    def item(kind: Any, array: Any, index: Any) -> Any:
        pointer = builder.gep(context.make_array(kind)(context, builder, array).data, [index])
        return builder.load(pointer)

    no_leaves = ir.Constant(sets, None)
    lost_leaves = cgutils.alloca_once_value(builder, no_leaves)
    step = ir.Constant(ir.IntType(64), 1)
    with cgutils.for_range_slice(builder, start, stop, step) as (node, _):
        address = builder.add(item(planes_kind, planes, node), at)
        code, _, _ = _load(context, builder, codes_kind, codes, address, lanes)
        cut = _everywhere(builder, item(cuts_kind, cuts, node), lanes)
        below = _everywhere(builder, item(lost_kind, lost, node), lanes)
        now = builder.select(builder.icmp_unsigned(">=", code, cut), below, no_leaves)
        builder.store(builder.or_(builder.load(lost_leaves), now), lost_leaves)
    total = builder.load(lost_leaves)
    # The first leaf that is left has the number of ones before the first zero.
    ones = builder.and_(total, builder.not_(builder.add(total, ir.Constant(sets, [1] * lanes))))
    count = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(sets, [sets]), f"llvm.ctpop.v{lanes}i{bits}"
    )
    leaf = builder.call(count, [ones])
    if bits > 32:
        leaf = builder.trunc(leaf, integers)
    base, width = (builder.trunc(number, ir.IntType(32)) for number in (base, width))
    scaled = builder.mul(leaf, _everywhere(builder, width, lanes))
    target, _ = _vector_at(context, builder, out_kind, out, o, lanes)
    builder.store(builder.add(scaled, _everywhere(builder, base, lanes)), target).align = 4
    return context.get_dummy_value()


@intrinsic
def find_leaves(
    context: Any, codes: Any, at: Any, planes: Any, cuts: Any, lost: Any, start: Any, stop: Any,
    out: Any, o: Any, base: Any, width: Any,
) -> Any:  # fmt: skip
    """Write base + width * the first leaf that rows do not lose at the nodes from start to stop.

    At a node, rows whose code, at ``codes[planes[node] + at]``, reaches ``cuts[node]`` lose the
    leaves ``lost[node]``. The leaves of LEAF_LANES rows go to ``out[o]``, 32 bits each.
    """
    index = types.intp
    arguments = (codes, index, planes, cuts, lost, index, index, out, index, index, index)
    return types.void(*arguments), _emit_leaves


def _emit_cut(move: bool, context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit edges - 2 * bin as one vector, its store if the bin moves, and the sum of its sizes."""
    edges_kind, _, histogram_kind, _, width = signature.args
    edges, e, histogram, h, _ = arguments
    lanes = 1 << (width.ndim - 1)
    wide = ir.VectorType(ir.IntType(64), lanes)
    value, pointer, _ = _load(context, builder, edges_kind, edges, e, lanes)
    moved, _, bits = _load(context, builder, histogram_kind, histogram, h, lanes)
    if bits < 64:
        moved = builder.sext(moved, wide)
    left = builder.sub(value, builder.add(moved, moved))
    if move:
        builder.store(left, pointer).align = 8
    zero = ir.Constant(wide, [0] * lanes)
    sizes = builder.select(builder.icmp_signed(">", left, zero), left, builder.sub(zero, left))
    return _reduce(builder, sizes, lanes)


@intrinsic
def move_bin(context: Any, edges: Any, e: Any, histogram: Any, h: Any, width: Any) -> Any:
    """Move a bin to the negative side of the cut; return the sum of the edges' sizes."""
    index = types.intp
    return types.int64(edges, index, histogram, index, width), partial(_emit_cut, True)


@intrinsic
def try_bin(context: Any, edges: Any, e: Any, histogram: Any, h: Any, width: Any) -> Any:
    """Return what `move_bin` would, and move nothing."""
    index = types.intp
    return types.int64(edges, index, histogram, index, width), partial(_emit_cut, False)


def _emit_squares(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit a + c b as one vector, its squares in 64 bits, and their sum."""
    kind, _, _, _, width = signature.args
    a, b, at, factor, _ = arguments
    lanes = 1 << (width.ndim - 1)
    first, _, bits = _load(context, builder, kind, a, at, lanes)
    second, _, _ = _load(context, builder, kind, b, at, lanes)
    total = builder.add(first, builder.mul(second, _spread(builder, factor, bits, lanes)))
    if bits < 64:
        total = builder.sext(total, ir.VectorType(ir.IntType(64), lanes))
    return _reduce(builder, builder.mul(total, total), lanes)


@intrinsic
def sum_squares(context: Any, a: Any, b: Any, at: Any, factor: Any, width: Any) -> Any:
    """Return the sum of squares of the vector at ``a[at]`` and a multiple of that at ``b[at]``."""
    return types.int64(a, b, types.intp, types.int64, width), _emit_squares


def _spread(builder: Any, number: Any, bits: int, lanes: int) -> Any:
    """Return a vector that has a 64-bit number in every lane."""
    single = builder.trunc(number, ir.IntType(bits)) if bits < 64 else number
    return _everywhere(builder, single, lanes)


def _everywhere(builder: Any, single: Any, lanes: int) -> Any:
    """Return a vector that has a number of its own width in every lane."""
    unset = ir.Constant(ir.VectorType(single.type, lanes), ir.Undefined)
    first = builder.insert_element(unset, single, ir.Constant(ir.IntType(32), 0))
    order = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(first, unset, order)


def _reduce(builder: Any, wide: Any, lanes: int) -> Any:
    """Return the sum of the lanes of a vector of 64-bit integers."""
    summed = cgutils.get_or_insert_function(
        builder.module,
        ir.FunctionType(ir.IntType(64), [wide.type]),
        f"llvm.vector.reduce.add.v{lanes}i64",
    )
    return builder.call(summed, [wide])


# Which elements of two vectors of eight, joined, make the next ones when an 8 x 8 block is
# transposed: first single elements change places, then pairs, then fours.
_INTERLEAVE = {
    1: ([0, 8, 1, 9, 4, 12, 5, 13], [2, 10, 3, 11, 6, 14, 7, 15]),
    2: ([0, 1, 8, 9, 4, 5, 12, 13], [2, 3, 10, 11, 6, 7, 14, 15]),
    4: ([0, 1, 2, 3, 8, 9, 10, 11], [4, 5, 6, 7, 12, 13, 14, 15]),
}


def _emit_transpose(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit eight loads, three rounds of shuffles and eight stores."""
    source_kind, _, _, target_kind, _, _ = signature.args
    source, s, s_stride, target, t, t_stride = arguments
    index = ir.IntType(64)
    rows = []
    for row in range(8):
        at = builder.add(s, builder.mul(s_stride, ir.Constant(index, row)))
        rows.append(_load(context, builder, source_kind, source, at, 8)[0])
    mask_type = ir.VectorType(ir.IntType(32), 8)
    for span in (1, 2, 4):
        swapped = list(rows)
        for row in range(8):
            if row & span == 0:
                for lane, mask in zip((row, row | span), _INTERLEAVE[span], strict=True):
                    order = ir.Constant(mask_type, mask)
                    swapped[lane] = builder.shuffle_vector(rows[row], rows[row | span], order)
        rows = swapped
    for row in range(8):
        at = builder.add(t, builder.mul(t_stride, ir.Constant(index, _COLUMN_OF[row])))
        pointer, bits = _vector_at(context, builder, target_kind, target, at, 8)
        builder.store(rows[row], pointer).align = bits // 8
    return context.get_dummy_value()


# Which column of the block each vector holds after the shuffles.
_COLUMN_OF = (0, 2, 1, 3, 4, 6, 5, 7)


@intrinsic
def transpose_8(
    context: Any, source: Any, s: Any, s_stride: Any, target: Any, t: Any, t_stride: Any
) -> Any:
    """Write the 8 x 8 block of a flat array at ``source[s]`` transposed to ``target[t]``."""
    index = types.intp
    return types.void(source, index, index, target, index, index), _emit_transpose


def _emit_flip(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit one vector load, its product with a number, its store, and its sum in 64 bits."""
    out_kind, _, signed_kind, _, _, totals_kind, _, width = signature.args
    out, o, signed, s, sign, totals, t, _ = arguments
    lanes = 1 << (width.ndim - 1)
    loaded, _, bits = _load(context, builder, signed_kind, signed, s, lanes)
    flipped = builder.mul(loaded, _spread(builder, sign, bits, lanes))
    target, _ = _vector_at(context, builder, out_kind, out, o, lanes)
    builder.store(flipped, target).align = bits // 8
    _emit_wide_add(context, builder, totals_kind, totals, t, flipped, bits, lanes)
    return context.get_dummy_value()


def _emit_wide_add(
    context: Any, builder: Any, kind: Any, totals: Any, t: Any, vector: Any, bits: int, lanes: int
) -> None:
    wide = ir.VectorType(ir.IntType(64), lanes)
    value, at, _ = _load(context, builder, kind, totals, t, lanes)
    added = builder.sext(vector, wide) if bits < 64 else vector
    builder.store(builder.add(value, added), at).align = 8


@intrinsic
def flip_vector(
    context: Any, out: Any, o: Any, signed: Any, s: Any, sign: Any, totals: Any, t: Any, width: Any
) -> Any:
    """Write the vector at ``signed[s]`` times `sign` to ``out[o]`` and add it to ``totals[t]``."""
    index = types.intp
    return types.void(out, index, signed, index, types.int64, totals, index, width), _emit_flip


def _emit_sums(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit one vector load and the additions of it and of its sizes in 64 bits."""
    totals_kind, masses_kind, _, signed_kind, _, width = signature.args
    totals, masses, t, signed, s, _ = arguments
    lanes = 1 << (width.ndim - 1)
    loaded, _, bits = _load(context, builder, signed_kind, signed, s, lanes)
    _emit_wide_add(context, builder, totals_kind, totals, t, loaded, bits, lanes)
    zero = ir.Constant(ir.VectorType(ir.IntType(bits), lanes), [0] * lanes)
    size = builder.select(builder.icmp_signed(">", loaded, zero), loaded, builder.sub(zero, loaded))
    _emit_wide_add(context, builder, masses_kind, masses, t, size, bits, lanes)
    return context.get_dummy_value()


@intrinsic
def add_sums(
    context: Any, totals: Any, masses: Any, t: Any, signed: Any, s: Any, width: Any
) -> Any:
    """Add the vector at ``signed[s]`` to ``totals[t]`` and its sizes to ``masses[t]``."""
    index = types.intp
    return types.void(totals, masses, index, signed, index, width), _emit_sums


def _emit_power(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit a double whose exponent bits are the argument and the bias."""
    integer = ir.IntType(64)
    biased = builder.add(arguments[0], ir.Constant(integer, 1023))
    return builder.bitcast(builder.shl(biased, ir.Constant(integer, 52)), ir.DoubleType())


@intrinsic
def power_of_two(context: Any, exponent: Any) -> Any:
    """Return 2.0**exponent for an integer exponent from -1022 to 1023."""
    return types.float64(types.int64), _emit_power
