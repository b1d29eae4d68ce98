//! The HTML form of a message: one column, in the colours of the site, light and dark. Nothing is loaded.
//!
//! Only the column and the footer have their styles inline. A program that removes the `style` element shows the rest, such as
//! headings and quotes, in its own style, and the message stays light.

use html_escape::{encode_double_quoted_attribute, encode_text};

use crate::copy;

const PAPER: &str = "#faf9f4";
const INK: &str = "#13161d";
const MUTED: &str = "#51555d";
const LINE: &str = "#d9d7d0";
const FONT: &str = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif";

/// The styles of the text, and the colours in dark mode.
const STYLE: &str = "\
    .page a{color:#13161d}\
    .page h1,.page h2,.page h3{margin:24px 0 12px;line-height:1.25}\
    .page h1{font-size:26px}.page h2{font-size:21px}.page h3{font-size:17px}\
    .page p,.page ul,.page ol,.page pre,.page blockquote{margin:0 0 16px}\
    .page ul,.page ol{padding:0 0 0 24px}.page li{margin:0 0 6px}\
    .page blockquote{padding:0 0 0 16px;border-left:3px solid #d9d7d0;color:#51555d}\
    .page code{font:14px ui-monospace,Menlo,Consolas,monospace}\
    .page pre{padding:12px;border:1px solid #d9d7d0;border-radius:3px;white-space:pre-wrap}\
    .page hr{margin:24px 0;border:0;border-top:1px solid #d9d7d0}\
    @media (prefers-color-scheme:dark){\
    body,.page{background:#0f1015!important;color:#edebe5!important}\
    .page a{color:#edebe5!important}\
    .page .muted,.page .muted a,.page blockquote{color:#a4a8af!important}\
    .page .line,.page blockquote,.page pre,.page hr{border-color:#2d3037!important}}";

/// Returns a message as a document.
pub(super) fn render(
    subject: &str,
    body: &str,
    footer: &[String],
    footer_link: Option<&str>,
) -> String {
    let footer = render_footer(footer, footer_link);
    let subject = encode_text(subject);
    format!(
        "<!DOCTYPE html>\n\
         <html lang=\"en\">\n\
         <head>\n\
         <meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{subject}</title>\n\
         <style>{STYLE}</style>\n\
         </head>\n\
         <body style=\"margin:0;padding:0;background:{PAPER};color:{INK}\">\n\
         <div class=\"page\" style=\"box-sizing:border-box;max-width:600px;margin:0 auto;padding:32px 20px;\
         background:{PAPER};color:{INK};font:16px/1.6 {FONT};overflow-wrap:break-word\">\n\
         {body}{footer}\
         </div>\n\
         </body>\n\
         </html>\n"
    )
}

fn render_footer(lines: &[String], link: Option<&str>) -> String {
    let mut lines: Vec<_> = lines.iter().map(encode_text).collect();
    if let Some(url) = link {
        let url = encode_double_quoted_attribute(url);
        let label = copy::mail::UNSUBSCRIBE;
        let link = format!("<a href=\"{url}\" style=\"color:{MUTED}\">{label}</a>");
        lines.push(link.into());
    }
    format!(
        "<p class=\"muted line\" style=\"margin:32px 0 0;padding:16px 0 0;border-top:1px solid {LINE};\
         color:{MUTED};font-size:14px\">{}</p>\n",
        lines.join("<br>\n")
    )
}
