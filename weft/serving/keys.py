"""The API key, where there is one."""

import hmac
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from weft.serving.answers import refused
from weft.serving.service import Served, Service

Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


def check(service: Service, bearer: HTTPAuthorizationCredentials | None, field: str = "") -> None:
    """Refuse whoever does not know the key, by a header or a field. A key that is nearly right takes as long to compare
    as any other."""
    key = service.settings.api_key
    if key is None:
        return
    given = bearer.credentials if bearer else field
    if not hmac.compare_digest(key.encode(), given.encode()):
        raise refused("the API key is wrong." if given else "this service asks for an API key.", 403)


async def _required(service: Served, bearer: Bearer) -> None:
    check(service, bearer)


required = Depends(_required)  # of a router: whoever asks sends Authorization: Bearer KEY
