const number = new Intl.NumberFormat("en");

export function count(n: number, one: string, many = `${one}s`): string {
  return `${number.format(n)} ${n === 1 ? one : many}`;
}

export function whole(n: number): string {
  return number.format(n);
}

export function money(usd: number): string {
  if (usd > 0 && usd < 0.01) return "under $0.01";
  return `$${usd.toFixed(2)}`;
}

/** "anthropic:claude-sonnet-5-5" → "claude-sonnet-5-5"; the built-in one gets a name of its own. */
export function modelName(model: string, tiny = false): string {
  if (tiny || model === "local") return "built-in model";
  const colon = model.indexOf(":");
  return colon < 0 ? model : model.slice(colon + 1);
}

/** What went wrong is told in words that others have begun: here it stands alone, or more follows. */
export function asSentence(text: string): string {
  const said = text.trim();
  const begun = said.replace(/^(?!moot )[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
  return /[.!?…:]["'”’)]*$/.test(begun) || begun === "" ? begun : `${begun}.`;
}

export function shortName(name: string): string {
  return name.replace(/^The /, "");
}

export function listed(names: readonly string[]): string {
  if (names.length <= 1) return names[0] ?? "";
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function ago(iso: string, now: number = Date.now()): string {
  const then = Date.parse(iso);
  if (Number.isNaN(then)) return "";
  const minutes = Math.round((then - now) / 60_000);
  if (minutes > -1) return "just now";
  if (minutes > -60) return relative.format(minutes, "minute");
  const hours = Math.round(minutes / 60);
  if (hours > -24) return relative.format(hours, "hour");
  const days = Math.round(hours / 24);
  if (days > -14) return relative.format(days, "day");
  return new Intl.DateTimeFormat("en", { day: "numeric", month: "long", year: "numeric" }).format(then);
}

/** "deliveryVsRigour" → "Delivery vs rigour" */
export function humanise(key: string): string {
  const words = key
    .replace(/[_-]+/g, " ")
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .toLowerCase();
  return words.charAt(0).toUpperCase() + words.slice(1);
}
