/** The timing of the scripted launch, in milliseconds (spec §9). */
export const START_DELAY_MS = 1000;
export const LINE_INTERVAL_MS = 800;
