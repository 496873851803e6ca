import { type ReactNode, useId, useState } from "react";
import { sentence } from "../api";
import { signIn } from "../me";
import { usePageHeading } from "../router";

export function SignIn(): ReactNode {
  const heading = usePageHeading("Sign in");
  const id = useId();
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string | null>(null);
  const submit = async (): Promise<void> => {
    setBusy(true);
    setProblem(null);
    try {
      await signIn(token.trim());
    } catch (error) {
      setBusy(false);
      setProblem(sentence(error));
    }
  };
  return (
    <main className="page narrow">
      <h1 ref={heading} tabIndex={-1}>
        Sign in
      </h1>
      <p className="lede">This moot is for people who have a token. Whoever runs it can give you yours.</p>
      <form
        className="sign-in"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy && token.trim() !== "") void submit();
        }}
      >
        <label htmlFor={id}>Your token</label>
        <input
          id={id}
          type="password"
          name="token"
          autoComplete="current-password"
          required
          value={token}
          aria-invalid={problem !== null}
          aria-describedby={problem !== null ? `${id}-problem` : undefined}
          onChange={(event) => setToken(event.target.value)}
        />
        {problem !== null ? (
          <p id={`${id}-problem`} className="field-problem" role="alert">
            {problem}
          </p>
        ) : null}
        <div className="row">
          <button type="submit" className="button button-accent" disabled={busy || token.trim() === ""}>
            {busy ? "Signing in…" : "Sign in"}
          </button>
        </div>
      </form>
    </main>
  );
}
