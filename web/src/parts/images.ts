// Images that somebody pastes, drops or picks, as data URLs that go with a message.

/** Together; a request holds at most 16 MiB. */
export const imageBytesMax = 10_000_000;
export const imagesMax = 20;

export interface PickedImage {
  readonly name: string;
  readonly url: string;
}

export type ImageFault = 'imagesOnly' | 'imagesTooLarge';

export function imageFiles(data: DataTransfer | null): File[] {
  return [...(data?.files ?? [])];
}

function toDataUrl(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.onload = () => resolve(String(reader.result));
  reader.onerror = () => reject(reader.error ?? new Error('unreadable'));
  reader.readAsDataURL(file);
  return promise;
}

/** The images with the new ones behind them, or why they cannot be taken. */
export async function addImages(
  before: readonly PickedImage[],
  files: readonly File[],
): Promise<readonly PickedImage[] | ImageFault> {
  if (files.some(({ type }) => !type.startsWith('image/'))) return 'imagesOnly';
  const added = await Promise.all(
    files.map(async (file) => ({ name: file.name, url: await toDataUrl(file) })),
  );
  const all = [...before, ...added];
  const bytes = all.reduce((sum, { url }) => sum + url.length, 0);
  return bytes > imageBytesMax || all.length > imagesMax ? 'imagesTooLarge' : all;
}
