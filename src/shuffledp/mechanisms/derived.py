"""Derived values of an object that never changes: every property is computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Once:
    """A property whose value is kept among the attributes of the instance, where Python finds it first.

    Reached by ``super()`` it is computed anew: what is kept is the value of the class that overrides it.
    """

    def __init__(self, name: str, compute: Callable[[Any], Any]) -> None:
        self._name, self._compute, self.__doc__ = name, compute, compute.__doc__

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        value = self._compute(instance)
        if getattr(type(instance), self._name) is self:
            vars(instance)[self._name] = value
        return value


class Derived:
    """Base of immutable classes: the properties of their subclasses are computed once for each object.

    Examples
    --------
    >>> class Square(Derived):
    ...     side = 3
    ...     @property
    ...     def area(self):
    ...         print("once")
    ...         return self.side**2
    >>> square = Square()
    >>> square.area + square.area
    once
    18
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            if isinstance(member, property) and member.fget is not None and not member.__isabstractmethod__:
                setattr(cls, name, _Once(name, member.fget))
