/** The line with the number of people on the list (spec §3, §7): from the server's page at first, from the API later. */
import { useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import { queryClient } from "../api-client";
import type { CountBody } from "../bindings/wire";
import { COUNT } from "./copy.json";
import { useSectionInView } from "../use-section-in-view";

const QUERY_KEY = ["/api/waitlist", "count"];
/** The share of the section that must be in view. With 0, a section at the edge of the window would count. */
const VISIBLE_THRESHOLD = 0.01;

/** `initial` is what the server's page shows. The line stays empty below `from`. `ref` is for an element of the section. */
export function useCountLine(initial: string, from: number) {
  const ref = useRef<HTMLParagraphElement>(null);
  const isInView = useSectionInView(ref, VISIBLE_THRESHOLD);
  const query = { queryKey: QUERY_KEY, enabled: isInView };
  const { data, refetch } = useQuery<Partial<CountBody>>(query, queryClient);
  const count = data?.count ?? 0;
  const current = count < from ? "" : `${count} ${COUNT}`;

  async function refresh() {
    // `refetch` would reuse a pending read, and that read may not include the new sign-up.
    await queryClient.cancelQueries({ queryKey: QUERY_KEY });
    await refetch();
  }
  return { ref, line: data ? current : initial, refresh };
}
