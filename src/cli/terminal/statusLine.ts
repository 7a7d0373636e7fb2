// Shows how far a command of unknown length is, on standard error: a line that is redrawn on a terminal, otherwise one
// now and then.

const redrawEveryMs = 100;
const lineEveryMs = 10_000;
const columnsDefault = 80;

interface StatusLine {
  /** The text is computed only if it is shown. */
  show(text: () => string): void;
  end(): void;
}

export function createStatusLine(isSilent: boolean): StatusLine {
  const { stderr } = process;
  let [shownAt, isDrawn] = [performance.now(), false];
  return {
    show: (text) => {
      const now = performance.now();
      if (isSilent || now - shownAt < (stderr.isTTY ? redrawEveryMs : lineEveryMs)) return;
      shownAt = now;
      if (!stderr.isTTY) return void stderr.write(`${text()}\n`);
      stderr.write(`\r\u001b[K${text().slice(0, (stderr.columns || columnsDefault) - 1)}`);
      isDrawn = true;
    },
    end: () => {
      if (isDrawn) stderr.write('\r\u001b[K');
      isDrawn = false;
    },
  };
}
