"""The API key, where there is one."""

import hmac
from typing import Annotated

from fastapi import Depends
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from weft.serving.answers import refused
from weft.serving.service import Served, Service

Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


def check(service: Service, *given: str | None) -> None:
    """Refuse whoever does not know the key. Comparing takes as long for a key that is nearly right as for any other."""
    key = service.settings.api_key
    if key is None:
        return
    if not any(hmac.compare_digest(key.encode(), one.encode()) for one in given if one is not None):
        raise refused("the API key is wrong." if any(given) else "this service asks for an API key.", 403)


async def _required(service: Served, given: Bearer) -> None:
    check(service, given.credentials if given else None)


required = Depends(_required)  # of a router: `APIRouter(dependencies=[required])`; asks for Authorization: Bearer KEY
