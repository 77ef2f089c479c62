"""The commands of ``edgewise``, a module each: its options, and what it does with them.

``add(commands)`` adds the parser of a command, and ``run(options)`` runs it. What is heavy is
imported only then.
"""
