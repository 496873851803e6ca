"""A struct that pydantic can describe, read and write, so that the payloads of HTTP and MCP hold it as it is.

Knows how a struct's fields look as JSON. Refuses to know any struct.
"""

from __future__ import annotations

from inspect import cleandoc
from typing import Any, get_type_hints

import msgspec
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Described(msgspec.Struct, frozen=True):
    """Its JSON always has all of its fields."""

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        types = get_type_hints(cls)
        fields = {
            field.encode_name: core_schema.typed_dict_field(handler.generate_schema(types[field.name]))
            for field in msgspec.structs.fields(cls)
        }
        names = [(field.name, field.encode_name) for field in msgspec.structs.fields(cls)]
        said = {"description": cleandoc(cls.__doc__)} if cls.__doc__ else {}
        described = core_schema.typed_dict_schema(
            fields,
            ref=f"{cls.__module__}.{cls.__qualname__}",
            metadata={"pydantic_js_updates": {"title": cls.__name__, **said}},
        )
        return core_schema.no_info_wrap_validator_function(
            lambda value, read: value if isinstance(value, cls) else msgspec.convert(read(value), cls),
            described,
            serialization=core_schema.plain_serializer_function_ser_schema(
                lambda value: {name: getattr(value, field) for field, name in names}, return_schema=described
            ),
        )
