/**
 * Runs the visitor journeys in three engines. `make test-browsers` runs all of them. `make test` runs the core journeys
 * in a few windows: those with the tag `@core` in Firefox and WebKit, and those that also have `@chromium` in Chromium.
 * What the others claim, a test in `tests/` proves in Chromium.
 */
import { defineConfig, type Project } from "@playwright/test";
import { DEFAULT_SETTINGS, type EngineName, ENGINES, type Settings } from "./journeys/engines.ts";
import type { WorkerOptions } from "./journeys/fixtures.ts";

type Part = Partial<Settings>;

const ENGINE_NAMES = Object.keys(ENGINES) as EngineName[];

const WINDOWS: Record<string, Part> = {
  "320 px": { width: 320, height: 640 },
  "390 px": { width: 390, height: 844 },
  "1280 px": { width: 1280, height: 800 },
  phone: { width: 390, height: 844, isPhone: true },
};

const MEDIA: Record<string, Part> = {
  light: {},
  dark: { colorScheme: "dark" },
  "reduced motion": { reducedMotion: true },
  "without JavaScript": { javaScript: false },
};

/** The projects of the core journeys, without the name of the engine. */
const CORE_PROJECTS = ["390 px dark", "1280 px without JavaScript"];
const isCore = process.env["JOURNEYS"] === "core";

export default defineConfig<object, WorkerOptions>({
  testDir: "journeys",
  outputDir: "test-results/browsers",
  forbidOnly: true,
  fullyParallel: true,
  // More than cores: many journeys wait for the demo or for a toast.
  workers: "150%",
  // Generous, so that the journeys pass on a busy machine too.
  timeout: 60_000,
  reporter: "list",
  expect: { timeout: 10_000 },
  projects: ENGINE_NAMES.flatMap((engine) =>
    Object.entries(WINDOWS).flatMap(([window, size]) =>
      Object.entries(MEDIA)
        .map(([media, part]) => ({
          name: `${window} ${media}`,
          settings: { ...DEFAULT_SETTINGS, ...size, ...part },
        }))
        .filter(({ name }) => !isCore || CORE_PROJECTS.includes(name))
        .filter(({ settings }) => canEmulate(engine, settings))
        .map(({ name, settings }) => project(engine, `${engine} ${name}`, settings)),
    ),
  ),
});

function canEmulate(engine: EngineName, { isPhone, javaScript }: Settings): boolean {
  const { phone } = ENGINES[engine];
  return !isPhone || phone === "always" || (phone === "with JavaScript" && javaScript);
}

/** A journey without a tag runs in every project with JavaScript. */
function project(
  engine: EngineName,
  name: string,
  settings: Settings,
): Project<object, WorkerOptions> {
  const { javaScript, reducedMotion, isPhone } = settings;
  const excluded = [
    ...(javaScript ? [/@no-javascript/] : []),
    // Expects animations, or expects none.
    reducedMotion ? /@motion/ : /@reduced-motion/,
    // Needs a mouse.
    ...(isPhone ? [/@hover/] : []),
  ];
  const included = javaScript ? ".*" : "@no-javascript|@everywhere";
  const coreTag = engine === "chromium" ? "@chromium" : "@core";
  return {
    name,
    use: { engine, settings },
    grep: new RegExp(isCore ? `(?=.*${coreTag}).*(${included})` : included),
    grepInvert: excluded,
  };
}
