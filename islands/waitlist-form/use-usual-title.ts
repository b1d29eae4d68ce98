/** The title and the URL of the page after a native post of the form. */
import { useEffect, useState } from "react";
import type { FormState } from "../bindings/wire";

/**
 * After a native post the page's title says what happened, and the URL that somebody has joined. The title stays until
 * the form shows something else. The URL changes at once: a shared link would say it to others. The rest of the URL
 * stays, because it may say where the visitor comes from.
 */
export function useUsualTitle(form: FormState) {
  const [first] = useState(form);
  useEffect(() => {
    const url = new URL(location.href);
    url.searchParams.delete("joined");
    if (first.outcome === "joined") history.replaceState(null, "", url);
    const isPosted = first.outcome !== "" || first.step === "code";
    const title = document.querySelector<HTMLMetaElement>('[property="og:title"]');
    if (isPosted && form !== first && title) document.title = title.content;
  }, [first, form]);
}
