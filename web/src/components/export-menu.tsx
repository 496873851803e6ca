import { type ReactNode, useEffect, useRef, useState } from "react";
import { api } from "../api";
import { Chevron } from "./decision-fold";

const FORMATS = [
  ["md", "Markdown", "to paste or keep beside the code"],
  ["html", "HTML", "one page to send to somebody"],
  ["json", "JSON", "everything, for programs"],
] as const;

/** A plain disclosure with three links: nothing that a menu role would make harder to use. */
export function ExportMenu({ id }: { id: string }): ReactNode {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) setOpen(false);
    };
    const closeOnEscape = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      setOpen(false);
      button.current?.focus();
    };
    document.addEventListener("pointerdown", outside);
    document.addEventListener("focusin", outside);
    document.addEventListener("keydown", closeOnEscape);
    return () => {
      document.removeEventListener("pointerdown", outside);
      document.removeEventListener("focusin", outside);
      document.removeEventListener("keydown", closeOnEscape);
    };
  }, [open]);
  return (
    <div className="export" ref={box}>
      <button
        ref={button}
        type="button"
        className="button"
        aria-expanded={open}
        aria-controls="export-formats"
        onClick={() => setOpen(!open)}
      >
        Export <Chevron />
      </button>
      <ul id="export-formats" hidden={!open}>
        {FORMATS.map(([format, label, use]) => (
          <li key={format}>
            <a href={api.exportUrl(id, format)} download onClick={() => setOpen(false)}>
              <strong>{label}</strong>
              <span>{use}</span>
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}
