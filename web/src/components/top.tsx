import type { ReactNode } from "react";
import { signOut, useMe } from "../me";
import { Link, paths, usePathname } from "../router";
import { chooseTheme, useTheme } from "../theme";

export function Top(): ReactNode {
  const theme = useTheme();
  const path = usePathname();
  const me = useMe();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <header className="top">
      <Link to={paths.home} className="wordmark" aria-label="moot, home">
        <svg viewBox="0 0 28 18" aria-hidden="true" focusable="false">
          <path d="M3 15a11 11 0 0 1 22 0" />
          <path className="wordmark-inner" d="M9 15a5 5 0 0 1 10 0" />
        </svg>
        moot
      </Link>
      <nav aria-label="Main" className="top-links">
        {me === "nobody" || path === paths.home ? null : (
          <Link to={paths.home} className="to-sessions">
            Sessions
          </Link>
        )}
        {me === "nobody" || path.startsWith(paths.new) ? null : (
          <Link to={paths.new}>
            New<span className="to-new-what"> decision</span>
          </Link>
        )}
        {me !== null && me !== "nobody" && me.signsIn ? (
          <span className="who">
            <span className="who-name" dir="auto" title={`Signed in as ${me.name}`}>
              <span className="sr-only">Signed in as </span>
              {me.name}
            </span>
            <button type="button" className="quiet" onClick={() => void signOut()}>
              Sign out
            </button>
          </span>
        ) : null}
        <button
          type="button"
          className="icon-button"
          aria-label={`Switch to the ${other} theme`}
          title={`Switch to the ${other} theme`}
          onClick={() => chooseTheme(other)}
        >
          <svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
            {theme === "dark" ? (
              <>
                <circle cx="12" cy="12" r="4.2" />
                <path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M18.4 5.6 17 7M7 17l-1.4 1.4" />
              </>
            ) : (
              <path d="M19.5 14.2A8 8 0 0 1 9.8 4.5a8 8 0 1 0 9.7 9.7Z" />
            )}
          </svg>
        </button>
      </nav>
    </header>
  );
}
