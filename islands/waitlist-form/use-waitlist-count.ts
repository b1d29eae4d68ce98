/** The number of people on the list (spec §3, §7): from the server's page at first, from the API later. */
import { useQuery } from "@tanstack/react-query";
import { type RefObject, useCallback, useState } from "react";
import { queryClient } from "../api-client";
import type { CountBody, CountState } from "../bindings/wire";
import { useSectionInView } from "../use-section-in-view";

const QUERY_KEY = ["/api/waitlist", "count"];

/** Returns the number of people on the list, whether it came from the API, and how to refresh it. */
export function useWaitlistCount(form: RefObject<HTMLElement | null>, initial: number) {
  const [hasBeenInView, setHasBeenInView] = useState(false);
  const onChange = useCallback(
    (share: number) => setHasBeenInView((before) => before || share > 0),
    [],
  );
  useSectionInView(form, onChange);
  const { data, refetch } = useQuery<Partial<CountBody>>({
    queryKey: QUERY_KEY,
    enabled: hasBeenInView,
  });
  async function refresh() {
    // `refetch` would reuse a pending read, and that read may not include the new sign-up.
    await queryClient.cancelQueries({ queryKey: QUERY_KEY });
    await refetch();
  }
  const count = data ? (data.count ?? 0) : initial;
  return { count, isLoaded: data !== undefined, refresh };
}

/** Returns the state of the count line, by the same rule as `src/wire.rs`. */
export function countState(count: number, from: number): CountState {
  if (count < from) return "hidden";
  return count > 0 ? "live" : "empty";
}
