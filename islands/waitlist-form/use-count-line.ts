/** The line with the number of people on the list (spec §3, §7): from the server's page at first, from the API later. */
import { useQuery } from "@tanstack/react-query";
import { type RefObject, useEffect } from "react";
import { queryClient } from "../api-client";
import type { CountBody } from "../bindings/wire";
import { COUNT } from "./copy.json";
import { useSectionInView } from "../use-section-in-view";

const QUERY_KEY = ["/api/waitlist", "count"];
/** The share of the section that must be in view: the smallest that is observed. */
const VISIBLE_THRESHOLD = 0.01;
/** Matches a number as a translator may write it: 1234, 1.234, 1 234, 1,23,456, ١٬٢٣٤. */
const NUMBER = /\p{Nd}+(?:[.,'’٬\s]\p{Nd}{2,3})*/u;

/** Keeps the line up to date. It stays empty below `from`. Returns the function that asks for the count again. */
export function useCountLine(line: RefObject<HTMLElement | null>, from: number) {
  const isInView = useSectionInView(line, VISIBLE_THRESHOLD);
  const query = { queryKey: QUERY_KEY, enabled: isInView };
  const { data, refetch } = useQuery<Partial<CountBody>>(query, queryClient);
  useEffect(() => {
    if (line.current && data) showCount(line.current, data.count ?? 0, from);
  }, [line, data, from]);

  return async function refresh() {
    // `refetch` would reuse a pending read, and that read may not include the new sign-up.
    await queryClient.cancelQueries({ queryKey: QUERY_KEY });
    await refetch();
  };
}

/** Edits the line in the DOM: React would overwrite a translation of the page with its own text. */
function showCount(line: HTMLElement, count: number, from: number) {
  const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
  if (count < from || !texts.nextNode()) {
    line.textContent = count < from ? "" : `${count} ${COUNT}`;
    return;
  }
  do {
    const text = texts.currentNode as Text;
    text.data = text.data.replace(NUMBER, String(count));
  } while (texts.nextNode());
}
