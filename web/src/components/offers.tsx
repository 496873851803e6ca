/** Where evidence is offered: files that are dropped or chosen, text that is pasted, a page or a path that is named. */

import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { announce } from "../announce";
import { count, whole } from "../format";
import {
  isWeighing,
  type Offer,
  offer,
  offerFile,
  type Place,
  summaryOf,
  takeBack,
  useIsUnkept,
  useOffers,
  weighAgain,
} from "../offers";

type Way = "text" | "address" | null;

interface Props {
  place: Place;
  /** A model has been told of it already. */
  told?: boolean;
  children?: ReactNode;
}

export function Offers({ place, told = false, children }: Props): ReactNode {
  const offers = useOffers(place);
  const unkept = useIsUnkept(place);
  const [way, setWay] = useState<Way>(null);
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const box = useRef<HTMLDivElement>(null);
  /** The button that was used last: it takes the focus back when what it opened is closed. */
  const used = useRef<HTMLButtonElement>(null);

  // Wherever on the page a file is let go: the browser would leave the page for it.
  useEffect(() => {
    const drag = (event: DragEvent): void => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      setOver(event.type === "dragover");
      if (event.type === "drop") for (const file of event.dataTransfer.files) void offerFile(place, file);
    };
    const left = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const pasted = (event: ClipboardEvent): void => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      for (const file of files) void offerFile(place, file);
    };
    addEventListener("dragover", drag);
    addEventListener("drop", drag);
    addEventListener("dragleave", left);
    addEventListener("paste", pasted);
    return () => {
      removeEventListener("dragover", drag);
      removeEventListener("drop", drag);
      removeEventListener("dragleave", left);
      removeEventListener("paste", pasted);
    };
  }, [place]);

  const weighing = isWeighing(offers);
  const summary = summaryOf(offers);
  const before = useRef(weighing);
  useEffect(() => {
    if (before.current && !weighing) announce(summary ? `Evidence to give: ${summary}` : "Nothing of it can be taken");
    before.current = weighing;
  }, [weighing, summary]);

  const choose = (event: { currentTarget: HTMLButtonElement }, to: Way): void => {
    used.current = event.currentTarget;
    setWay(way === to ? null : to);
  };
  const close = (): void => {
    setWay(null);
    used.current?.focus();
  };
  return (
    <div className={over ? "offers is-over" : "offers"} ref={box}>
      <div className="drop">
        <p className="drop-words">{over ? "Let go to add it" : "Drop files here, or"}</p>
        <div className="drop-ways">
          <button type="button" className="quiet" onClick={() => input.current?.click()}>
            choose files
          </button>
          <button
            type="button"
            className="quiet"
            aria-expanded={way === "text"}
            onClick={(event) => choose(event, "text")}
          >
            paste text
          </button>
          <button
            type="button"
            className="quiet"
            aria-expanded={way === "address"}
            onClick={(event) => choose(event, "address")}
          >
            name a page or a path
          </button>
        </div>
        <input
          ref={input}
          type="file"
          multiple
          hidden
          aria-label="Files"
          onChange={(event) => {
            for (const file of event.target.files ?? []) void offerFile(place, file);
            event.target.value = "";
          }}
        />
      </div>
      {way === "text" ? <PasteText place={place} onDone={close} /> : null}
      {way === "address" ? <NameAddress place={place} onDone={close} /> : null}
      {offers.length > 0 ? (
        <ul className="offer-list" aria-label="Evidence to give">
          {offers.map((one) => (
            <OfferItem
              key={one.key}
              place={place}
              one={one}
              onGone={() => box.current?.querySelector<HTMLElement>(".drop-ways button")?.focus()}
            />
          ))}
        </ul>
      ) : null}
      {offers.length > 0 ? (
        <p className="hint offers-sum" role="status">
          {weighing
            ? "Weighing…"
            : summary
              ? `${summary}.${told ? "" : " Nothing has been sent yet."}`
              : "Nothing of this can be taken."}
          {unkept ? " It is too large for this browser to keep over a reload." : ""}
        </p>
      ) : null}
      {children}
    </div>
  );
}

function OfferItem({ place, one, onGone }: { place: Place; one: Offer; onGone: () => void }): ReactNode {
  const taken = one.weighed?.taken ?? [];
  const leftOut = one.weighed?.leftOut ?? [];
  const [first] = taken;
  const tokens = taken.reduce((sum, item) => sum + item.tokens, 0);
  const state =
    one.problem !== null ? "is-left" : one.weighed === null ? "is-weighing" : taken.length > 0 ? "is-taken" : "is-left";
  return (
    <li className={`offer ${state}`}>
      <div className="offer-words">
        <p className="offer-name" dir="auto">
          {one.name}
        </p>
        {one.problem !== null ? (
          <p className="offer-why" role="alert">
            Could not be weighed: {one.problem}{" "}
            <button type="button" className="quiet" onClick={() => weighAgain(place, one.key)}>
              Try again
            </button>
          </p>
        ) : one.weighed === null ? (
          <p className="offer-facts">{one.give.url ? "Fetching the page…" : "Weighing…"}</p>
        ) : null}
        {first ? (
          <p className="offer-facts">
            <span>{whole(tokens)} tokens</span>
            <span>
              {taken.length > 1
                ? count(taken.length, "file")
                : first.isImage
                  ? "image"
                  : `${count(first.lines, "line")}, whole`}
            </span>
          </p>
        ) : null}
        {leftOut.map((left, at) => (
          <p key={at} className="offer-why">
            <strong>Left out</strong>
            {left.name !== one.name ? <span dir="auto"> {left.name}</span> : null}: {left.why}
          </p>
        ))}
      </div>
      <button
        type="button"
        className="icon-button"
        aria-label={`Take back ${one.name}`}
        title="Take back"
        onClick={() => {
          takeBack(place, one.key);
          announce(`${one.name} taken back`);
          onGone();
        }}
      >
        <svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
          <path d="m7 7 10 10M17 7 7 17" />
        </svg>
      </button>
    </li>
  );
}

interface FormProps {
  place: Place;
  onDone: () => void;
}

function PasteText({ place, onDone }: FormProps): ReactNode {
  const id = useId();
  const [name, setName] = useState("");
  const [text, setText] = useState("");
  const ready = text.trim() !== "";
  const add = (): void => {
    if (!ready) return;
    const called = name.trim() || "pasted text";
    offer(place, called, { name: called, text });
    onDone();
  };
  return (
    <form
      className="offer-form"
      onSubmit={(event) => {
        event.preventDefault();
        add();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onDone();
      }}
    >
      <label htmlFor={id}>Text</label>
      <textarea
        id={id}
        rows={4}
        dir="auto"
        // biome-ignore lint/a11y/noAutofocus: it was asked for with a button
        autoFocus
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
            event.preventDefault();
            add();
          }
        }}
      />
      <label htmlFor={`${id}-name`}>Name, for citing it</label>
      <input
        id={`${id}-name`}
        type="text"
        dir="auto"
        maxLength={200}
        placeholder="pasted text"
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <div className="row">
        <button type="submit" className="button" disabled={!ready}>
          Add
        </button>
        <button type="button" className="quiet" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  );
}

const IS_ADDRESS = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;

function NameAddress({ place, onDone }: FormProps): ReactNode {
  const id = useId();
  const [typed, setTyped] = useState("");
  const words = typed.trim();
  return (
    <form
      className="offer-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (words === "") return;
        offer(place, words, IS_ADDRESS.test(words) ? { url: words } : { path: words });
        onDone();
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") onDone();
      }}
    >
      <label htmlFor={id}>The address of a page, or a file or folder in the workspace</label>
      <input
        id={id}
        type="text"
        dir="ltr"
        inputMode="url"
        autoCapitalize="off"
        autoComplete="off"
        spellCheck={false}
        maxLength={4096}
        placeholder="https://…, or docs/plan.md"
        // biome-ignore lint/a11y/noAutofocus: it was asked for with a button
        autoFocus
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
      />
      <div className="row">
        <button type="submit" className="button" disabled={words === ""}>
          Add
        </button>
        <button type="button" className="quiet" onClick={onDone}>
          Cancel
        </button>
      </div>
    </form>
  );
}
