"""Two watchers: one that only looks, one that switches heads off."""

from torch import Tensor


class Looking:
    """Keeps everything it sees, by place and name."""

    def __init__(self) -> None:
        self.seen: dict[tuple[str, str], Tensor] = {}

    def see(self, place: str, name: str, value: Tensor) -> None:
        self.seen[place, name] = value

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        return value


class Silencing(Looking):
    """Scales the output of one head to zero."""

    def __init__(self, head: int) -> None:
        super().__init__()
        self.head = head

    def change(self, place: str, name: str, value: Tensor) -> Tensor:
        assert name == "heads"
        scale = value.new_ones(value.size(2))
        scale[self.head] = 0.0
        return value * scale[:, None]  # (B, T, H, K)
