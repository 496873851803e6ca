/** Writes THIRD-PARTY.txt: who made what the page bundles, and on which terms. A package without a licence file
 * stops the build. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Plugin } from "vite";

interface Package {
  name: string;
  version: string;
  license: string;
  texts: string[];
}

const LINE = "=".repeat(80);

export function thirdPartyNotices(): Plugin {
  let root = "";
  return {
    name: "third-party-notices",
    apply: "build",
    configResolved(config) {
      root = config.root;
    },
    generateBundle(_options, bundle) {
      const files = new Set<string>();
      for (const output of Object.values(bundle)) {
        const sources = output.type === "chunk" ? output.moduleIds : output.originalFileNames;
        for (const source of sources) files.add(source);
      }
      // Style sheets are no chunk's modules, but they, and the fonts that they name, are in the page.
      for (const id of this.getModuleIds()) if (/\.css($|\?)/.test(id)) files.add(id);
      const packages = new Map<string, Package>();
      for (const file of files) {
        const folder = packageFolder(resolve(root, file));
        if (folder && !packages.has(folder)) packages.set(folder, describe(folder));
      }
      this.emitFile({ type: "asset", fileName: "THIRD-PARTY.txt", source: notices([...packages.values()]) });
    },
  };
}

function packageFolder(file: string): string | undefined {
  if (!file.includes("node_modules/")) return undefined;
  for (let folder = dirname(file); folder.includes("node_modules/"); folder = dirname(folder))
    if (existsSync(join(folder, "package.json")) && describes(folder)) return folder;
  return undefined;
}

/** Some packages have further package.json files within, which name nothing. */
function describes(folder: string): boolean {
  const described = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Partial<Package>;
  return Boolean(described.name && described.version);
}

function describe(folder: string): Package {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Package;
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|notice|copying)/i.test(file))
    .sort()
    .map((file) => readFileSync(join(folder, file), "utf8").trim());
  if (texts.length === 0 || !license)
    throw new Error(`${name} ${version} comes without a licence: it cannot be bundled`);
  return { name, version, license, texts };
}

function notices(packages: Package[]): string {
  packages.sort((a, b) => (a.name < b.name ? -1 : 1));
  const head = "moot's page contains the following, each on its own terms.\n";
  const parts = packages.map(({ name, version, license, texts }) =>
    [LINE, `${name} ${version}`, `Licence: ${license}`, LINE, "", ...texts, ""].join("\n"),
  );
  return [head, ...parts].join("\n");
}
