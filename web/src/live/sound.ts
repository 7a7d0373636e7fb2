// The notification sound: two short tones, generated without a file.

const tones = [
  { hertz: 660, atS: 0 },
  { hertz: 880, atS: 0.14 },
];
const toneS = 0.22;
const loudness = 0.08;

let context: AudioContext | undefined;

/** Browsers allow sound only after the user has interacted with the page. Otherwise this does nothing. */
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
    // The screen shows the same, so that sound is optional.
  }
}
