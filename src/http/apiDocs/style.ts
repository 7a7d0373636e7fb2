// The style of the API docs: light and dark, from phones to wide screens, without external resources.

export const referenceStyle = `
:root {
  color-scheme: light dark;
  --back: #ffffff; --panel: #f6f7fa; --line: #dfe3ea; --text: #1b2230; --quiet: #566073; --accent: #3347c6;
  --code: #eef0f6; --ink-back: #171c28; --ink: #e3e8f1;
  --blue: #0b5784; --blue-back: #dff0fb; --green: #15603a; --green-back: #dcf4e5;
  --amber: #774700; --amber-back: #fdefd6; --red: #9d1f29; --red-back: #fde6e7;
}
@media (prefers-color-scheme: dark) {
  :root {
    --back: #10141c; --panel: #161b25; --line: #2b3343; --text: #e3e8f1; --quiet: #a2adbf; --accent: #a5b4ff;
    --code: #222938; --ink-back: #0a0d13; --ink: #dbe2ee;
    --blue: #93d2fb; --blue-back: #10324a; --green: #8fe0b0; --green-back: #12351f;
    --amber: #f5c97a; --amber-back: #40300f; --red: #ffa9ae; --red-back: #481c22;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 1.5rem; -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--back); color: var(--text);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
code { font-size: .875em; background: var(--code); border-radius: .25rem; padding: .1em .35em; overflow-wrap: anywhere; }
a { color: var(--accent); text-underline-offset: .2em; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: .25rem; }
main:focus { outline: none; }
p { margin: .5rem 0; }
.skip { position: absolute; left: -99rem; z-index: 1; padding: .5rem 1rem; background: var(--accent); color: var(--back); }
.skip:focus { left: 1rem; top: 1rem; }

h1, h2, h3, h4 { line-height: 1.25; margin: 0; text-wrap: balance; }
h1 { font-size: 2.25rem; letter-spacing: -.02em; }
h1 small { font-size: 1rem; font-weight: 400; color: var(--quiet); letter-spacing: 0; }
h2 { font-size: 1.625rem; letter-spacing: -.01em; }
h3 { font-size: 1.25rem; }
h3 .type { font-size: .875rem; font-weight: 400; }
h3 a { color: inherit; text-decoration: none; }
h3 a:hover { text-decoration: underline; }
h4 { font-size: .9375rem; margin: 1.75rem 0 .5rem; }
h4 small { font-weight: 400; color: var(--quiet); }

main { padding: 1.5rem 1.25rem 6rem; max-width: 84rem; }
main > section { margin-top: 3rem; padding-top: 2.5rem; border-top: 1px solid var(--line); }
main p, main dd { max-width: 46rem; }
.intro p:first-of-type { font-size: 1.125rem; }
article { margin-top: 2.5rem; }
.schema > h3 { margin-bottom: .5rem; }
article:target { box-shadow: -.375rem 0 0 var(--back), -.625rem 0 0 var(--accent); }
.operation > * { min-width: 0; }
.line { display: flex; gap: .625rem; align-items: center; flex-wrap: wrap; }
.line code { font-size: 1rem; background: none; padding: 0; }
.access { color: var(--quiet); font-size: .9375rem; }
.access b { color: var(--text); margin-right: .25rem; }
dt { margin-top: 1rem; }
dd { margin: 0; }

.method, .status {
  font: 700 .75rem/1 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  letter-spacing: .03em; padding: .35em .5em; border-radius: .25rem; background: var(--code); color: var(--text);
}
.get, .head { color: var(--blue); background: var(--blue-back); }
.post, .fine { color: var(--green); background: var(--green-back); }
.put, .patch { color: var(--amber); background: var(--amber-back); }
.delete, .failed { color: var(--red); background: var(--red-back); }

pre {
  max-width: 46rem; margin: .5rem 0; padding: 1rem; border-radius: .5rem; background: var(--ink-back); color: var(--ink);
  border: 1px solid var(--line);
  font-size: .8125rem; line-height: 1.6; white-space: pre-wrap; overflow-wrap: anywhere;
}
pre code { background: none; padding: 0; font-size: inherit; }

table { width: 100%; border-collapse: collapse; font-size: .9375rem; }
caption, thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
tbody > tr { border-top: 1px solid var(--line); }
tbody > tr.nested { border-top: 0; }
th[scope="row"] { width: 42%; padding: .625rem 1rem .625rem 0; text-align: left; vertical-align: top; font-weight: 400; }
td { padding: .625rem 0; vertical-align: top; }
td > :first-child, li > :first-child, dd > :first-child { margin-top: 0; }
td > :last-child { margin-bottom: 0; }
.nested > td { padding-top: 0; }
.name { font-weight: 600; background: none; padding: 0; }
.type { background: none; padding: 0; color: var(--quiet); }
.kind { display: block; }
.required { margin-left: .25rem; font-size: .75rem; color: var(--red); }
.where, .others { color: var(--quiet); font-size: .875rem; }
.facts { list-style: none; margin: .25rem 0; padding: 0; font-size: .875rem; color: var(--quiet); }
.facts code { color: var(--text); }
.inner { margin-bottom: 0; }
.inner b { font-size: .9375rem; font-weight: 600; }
.inners { margin: .5rem 0; padding-left: 1.25rem; }

.responses { list-style: none; margin: 0; padding: 0; font-size: .9375rem; }
.response { display: grid; grid-template-columns: 3rem minmax(0, 1fr) fit-content(12rem); column-gap: .75rem; padding: .625rem 0; border-top: 1px solid var(--line); }
.response > p, .response > div > p { margin: 0; }
.response > .body { text-align: right; }
.response > details { grid-column: 2 / -1; }
.response > .status { justify-self: start; align-self: start; margin-top: .25rem; }

summary { cursor: pointer; padding: .25rem 0; font-size: .875rem; color: var(--accent); }
details details, td > details { border-left: 2px solid var(--line); padding-left: 1rem; }
summary code { background: none; padding: 0; }

nav, .samples { scrollbar-width: thin; }
nav { padding: 1rem 1.25rem; background: var(--panel); border-bottom: 1px solid var(--line); font-size: .875rem; }
nav ul { list-style: none; margin: 0; padding: 0; }
nav a { display: flex; gap: .5rem; align-items: baseline; padding: .3125rem 0; color: inherit; text-decoration: none; }
nav a:hover { color: var(--accent); text-decoration: underline; }
nav .method { flex: none; width: 3.5rem; font-size: .625rem; text-align: center; }
.menu > ul > li { margin-top: .75rem; }
.menu > ul > li > a { font-weight: 600; }
.brand { display: flex; gap: .5rem; align-items: baseline; margin: 0; color: var(--quiet); }
.brand a { font-size: 1.125rem; font-weight: 700; color: var(--text); }

.said, .schema, td > details, .response > details, .inners > li { container-type: inline-size; }
@container (max-width: 30rem) {
  table, tbody, tbody tr, th[scope="row"], td { display: block; width: auto; }
  th[scope="row"] { padding: .625rem 0 0; }
  td { padding: .125rem 0 .625rem; }
  .kind { display: inline; margin-left: .375rem; }
}
@media (max-width: 40rem) {
  .response > .body { grid-column: 2; text-align: left; }
  h1 { font-size: 1.875rem; }
}
@media (min-width: 60rem) {
  body { display: grid; grid-template-columns: 17rem minmax(0, 1fr); }
  nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 2rem 1.25rem; border: 0; border-right: 1px solid var(--line); }
  main { padding: 3rem 3rem 8rem; }
  @supports selector(::details-content) {
    .menu > summary { display: none; }
    .menu::details-content { content-visibility: visible; }
  }
}
@media (min-width: 80rem) {
  .operation { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 27rem); column-gap: 3rem; }
  .operation > header { grid-column: 1 / -1; }
  .samples > h4:first-child, .said > h4:first-child { margin-top: 1rem; }
  .samples { position: sticky; top: 1.5rem; align-self: start; max-height: calc(100vh - 3rem); overflow-y: auto; padding: 0 .25rem; }
}
@media print { nav, .skip { display: none; } }
`;
