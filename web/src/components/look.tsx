/** Whether whoever speaks may look into the workspace, where that is for whoever sits here to say. */

import type { ReactNode } from "react";
import { changeDraft, useDraft } from "../draft";
import { useMe } from "../me";

export function useMayLook(): boolean {
  const me = useMe();
  return me !== null && me !== "nobody" && !me.signsIn;
}

export function Look(): ReactNode {
  const { looks } = useDraft();
  if (!useMayLook()) return null;
  return (
    <label className="look">
      <input type="checkbox" checked={looks} onChange={(event) => changeDraft({ looks: event.target.checked })} />
      <span>
        Advisors may look into the workspace
        <span className="hint">
          So may who asks the questions. Read-only, a few times each, and never at private files. You see what was read.
        </span>
      </span>
    </label>
  );
}
