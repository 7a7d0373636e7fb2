// Shows how far a long command is, on standard error: a bar on a terminal, otherwise a line now and then.
import { plainText } from '../../text/plainText.ts';

const barChars = 20;
const redrawEveryMs = 100;
const lineEvery = 100;
const columnsDefault = 80;

interface ProgressBar {
  /** `text` says what has been done, such as "120 of 1,000 conversations". */
  show(done: number, total: number, text: string): void;
  /** Removes the bar. */
  end(): void;
}

export function createProgressBar(isSilent: boolean): ProgressBar {
  const { stderr } = process;
  let [drawnAt, shown, lastLine] = [Number.NEGATIVE_INFINITY, false, 0];

  function draw(done: number, total: number, text: string): void {
    const now = performance.now();
    if (now - drawnAt < redrawEveryMs && done < total) return;
    drawnAt = now;
    const full = total === 0 ? barChars : Math.floor((barChars * done) / total);
    const line = `${'█'.repeat(full)}${'░'.repeat(barChars - full)} ${plainText(text)}`;
    stderr.write(`\r\u001b[K${line.slice(0, (stderr.columns || columnsDefault) - 1)}`);
    shown = true;
  }

  return {
    show: (done, total, text) => {
      if (isSilent) return;
      if (stderr.isTTY) return draw(done, total, text);
      if (done % lineEvery !== 0 || done === lastLine) return;
      lastLine = done;
      stderr.write(`${plainText(text)}\n`);
    },
    end: () => {
      if (shown) stderr.write('\r\u001b[K');
      shown = false;
    },
  };
}
