import { type ReactNode, useState } from "react";
import { api } from "../api";
import { useFetched } from "../fetched";
import { modelName } from "../format";
import { inline } from "../markdown";
import { SMALL_MODEL } from "../wire";

const KEY = "moot.small-model-known";

function known(): boolean {
  try {
    return localStorage.getItem(KEY) === "1";
  } catch {
    return false;
  }
}

/** Which model will speak. If it is the small built-in one, that is said once, with the way out of it. */
export function ModelNote(): ReactNode {
  const [model] = useFetched(api.model);
  const [hidden, setHidden] = useState(known);
  if (model.state !== "ready") return null;
  if (!model.value.tiny || hidden) {
    return (
      <p className="model-line">
        {model.value.tiny ? (
          SMALL_MODEL
        ) : (
          <>
            The board speaks with <strong>{modelName(model.value.model)}</strong>.
          </>
        )}
      </p>
    );
  }
  return (
    <aside className="note" aria-label="About the built-in model">
      <p>
        <strong>{SMALL_MODEL}</strong> It shows how a board works, on this machine and for free.
      </p>
      {model.value.advice ? <p>{inline(model.value.advice)}</p> : null}
      <button
        type="button"
        className="quiet"
        onClick={() => {
          setHidden(true);
          try {
            localStorage.setItem(KEY, "1");
          } catch {
            // it will be said again next time
          }
        }}
      >
        Understood
      </button>
    </aside>
  );
}
