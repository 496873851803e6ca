import { type ReactNode, useEffect } from "react";
import { Announcer } from "./announce";
import { Top } from "./components/top";
import { findOut, useMe } from "./me";
import { Decide } from "./pages/decide";
import { Home } from "./pages/home";
import { Questions } from "./pages/questions";
import { Heading, SessionPage } from "./pages/session";
import { SignIn } from "./pages/sign-in";
import { Link, paths, readRoute, usePathname } from "./router";

function Nowhere(): ReactNode {
  return (
    <main className="page narrow">
      <Heading>There is nothing here</Heading>
      <p className="lede">The address does not lead to a page of moot.</p>
      <div className="row">
        <Link to={paths.home} className="button">
          See all sessions
        </Link>
      </div>
    </main>
  );
}

function Page(): ReactNode {
  const route = readRoute(usePathname());
  switch (route.page) {
    case "home":
      return <Home />;
    case "new":
      return <Decide />;
    case "questions":
      return <Questions />;
    case "nowhere":
      return <Nowhere />;
    default:
      return <SessionPage key={route.id} route={route} />;
  }
}

export function App(): ReactNode {
  const me = useMe();
  useEffect(() => void findOut(), []);
  return (
    <>
      <a className="skip-link" href="#main">
        Skip to the page
      </a>
      <Top />
      <div id="main" tabIndex={-1}>
        {me === "nobody" ? <SignIn /> : <Page />}
      </div>
      <Announcer />
    </>
  );
}
