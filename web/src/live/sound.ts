// Two short tones, made here: no file is fetched for them.

const tones = [
  { hertz: 660, atS: 0 },
  { hertz: 880, atS: 0.14 },
];
const toneS = 0.22;
const loudness = 0.08;

let context: AudioContext | undefined;

/** Browsers let a page sound only after somebody has used it; where they do not, nothing is heard. */
export function playSound(): void {
  try {
    context ??= new AudioContext();
    void context.resume();
    for (const { hertz, atS } of tones) {
      const start = context.currentTime + atS;
      const oscillator = context.createOscillator();
      const volume = context.createGain();
      oscillator.frequency.value = hertz;
      volume.gain.setValueAtTime(loudness, start);
      volume.gain.exponentialRampToValueAtTime(0.001, start + toneS);
      oscillator.connect(volume).connect(context.destination);
      oscillator.start(start);
      oscillator.stop(start + toneS);
    }
  } catch {
    // Without sound everything is on the screen, too.
  }
}
