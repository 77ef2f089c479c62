"""The documentation site: `make docs` builds it into docs/_build/html."""

import os
import re
import warnings

# Examples and figures are small: NumPy's kernels draw them before a compiler has started.
os.environ.setdefault("EDGEWISE_BACKEND", "numpy")

import edgewise

warnings.filterwarnings("ignore", message=".*non-interactive.*")

project = "edgewise"
author = "The edgewise developers"
copyright = "The edgewise developers"
release = version = edgewise.__version__
language = "en"
smartquotes = False
toc_object_entries_show_parents = "hide"

extensions = [
    "myst_parser",
    "numpydoc",
    "matplotlib.sphinxext.figmpl_directive",
    "matplotlib.sphinxext.plot_directive",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "sphinx-mathjax-offline",
]
exclude_patterns = ["_build"]
suppress_warnings = ["config.cache"]

# Pages: Markdown, with formulas between dollar signs.
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist", "attrs_inline", "attrs_block"]
myst_heading_anchors = 4
highlight_language = "text"
copybutton_exclude = ".linenos, .gp, .go"

# The reference: one page for each name, from the docstrings.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False
templates_path = ["_templates"]

# Pictures: functions of docs/figures.py, and the scripts of examples/.
plot_include_source = False
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 95)]
plot_srcset = ["2x"]
plot_rcparams = {
    "figure.constrained_layout.use": True,
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "legend.frameon": False,
}
plot_apply_rcparams = True
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"movie_night\.py$",
    "subsection_order": [
        f"../examples/{name}" for name in ("classifying", "ranking", "recommending", "everyday")
    ],
    "within_subsection_order": "NumberOfCodeLinesSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "min_reported_time": 1,
    "capture_repr": (),
    "image_scrapers": ("matplotlib",),
    "abort_on_example_error": True,
    "backreferences_dir": "api/uses",
    "doc_module": ("edgewise",),
}

# The look.
html_theme = "pydata_sphinx_theme"
html_title = "edgewise"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = html_copy_source = False
html_context = {"default_mode": "auto"}
html_favicon = "_static/logo.svg"
html_theme_options = {
    "logo": {
        "text": "edgewise",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "coming/index": []}


def formulas_as_literals(app, what, name, obj, options, lines):
    """Set the indented formulas of a docstring's summary as they stand."""
    found, inside, before = [], False, ""
    for at, line in enumerate(lines):
        if set(line) == {"-"}:  # the first section, of parameters or examples
            lines[:] = found + lines[at:]
            return
        indented = line.startswith("    ")
        if indented and not inside and not before.lstrip().startswith(("- ", ">>>", "...")):
            found += [] if before.endswith("::") else ["::", ""]
        inside, before = indented or (inside and not line), line or before
        found.append(line)
    lines[:] = found


def skip_parameters(app, what, name, obj, skip, options):
    """Leave out parameters, which the class describes, what files hold, and scikit-learn's own."""
    hidden = {"stored", "stores_undeclared", "n_rounds", "search", "subsample"}
    return skip or name in hidden or bool(re.fullmatch(r"set_\w+_request", name))


def without_last_lines(app, name, source):
    """Leave out the blank line with which a block of doctests ends for Python's doctest."""
    source[0] = re.sub(r"(?s)(```python\n>>> .*?)\n\n```\n", r"\1\n```\n", source[0])


def setup(app):
    app.connect("source-read", without_last_lines)
    app.connect("autodoc-process-docstring", formulas_as_literals, priority=100)
    app.connect("autodoc-skip-member", skip_parameters)
