"""What a reply cost, where that is known. The prices are data in genai-prices; nothing is fetched."""

from __future__ import annotations

from moot.gateway.protocol import Usage


def cost_usd(provider: str, model: str, usage: Usage) -> float | None:
    """None where no price is known. Importing the data takes half a second of CPU, hence the late import."""
    import genai_prices

    counted = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        price = genai_prices.calc_price(counted, model, provider_id=provider)
    except (LookupError, ValueError):
        return None
    return float(price.total_price)


def warm_up() -> None:
    """Loads the price data. Called in a thread while the first request is under way."""
    import genai_prices  # noqa: F401
