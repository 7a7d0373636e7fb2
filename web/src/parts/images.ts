// Images that somebody pastes, drops or picks, as data URLs that go with a message.

/** Together, as files. As data URLs they are a third longer; a request holds at most 16 MiB. */
const imageBytesMax = 10_000_000;
const imagesMax = 20;

export interface PickedImage {
  readonly name: string;
  readonly url: string;
}

export type ImageFault = 'imagesOnly' | 'imagesTooLarge' | 'imagesTooMany' | 'imagesUnreadable';

type Transfer = Pick<DataTransfer, 'types' | 'files'>;

/** Text that is dragged is for the box itself. */
export function holdsFiles({ types }: Pick<DataTransfer, 'types'>): boolean {
  return types.includes('Files');
}

/** Of what is pasted. Office programs put a picture of their cells and paragraphs beside the text, which is what counts. */
export function pastedFiles({ types, files }: Transfer): File[] {
  const isText = types.includes('text/plain') && types.includes('text/html');
  return isText ? [] : [...files];
}

function toDataUrl(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.onload = () => resolve(String(reader.result));
  reader.onerror = () => reject(reader.error ?? new Error('unreadable'));
  reader.readAsDataURL(file);
  return promise;
}

/** Throws where the browser cannot show it: a name and a type are soon given. */
async function decode(url: string): Promise<string> {
  const image = new Image();
  image.src = url;
  await image.decode();
  return url;
}

/** The images, or why they cannot be taken. Those that are too large are not even read. */
export async function readImages(files: readonly File[]): Promise<readonly PickedImage[] | ImageFault> {
  if (files.some(({ type }) => !type.startsWith('image/'))) return 'imagesOnly';
  if (files.length > imagesMax) return 'imagesTooMany';
  if (files.reduce((sum, { size }) => sum + size, 0) > imageBytesMax) return 'imagesTooLarge';
  try {
    return await Promise.all(
      files.map(async (file) => ({ name: file.name, url: await decode(await toDataUrl(file)) })),
    );
  } catch {
    return 'imagesUnreadable';
  }
}

/** As a file. */
function bytesOf({ url }: PickedImage): number {
  const text = url.slice(url.indexOf(',') + 1);
  return Math.floor((text.replace(/=+$/, '').length * 3) / 4);
}

/** The images with the new ones behind them, or why there is no room for those. */
export function joinImages(
  before: readonly PickedImage[],
  added: readonly PickedImage[],
): readonly PickedImage[] | ImageFault {
  const all = [...before, ...added];
  if (all.length > imagesMax) return 'imagesTooMany';
  const bytes = all.reduce((sum, image) => sum + bytesOf(image), 0);
  return bytes > imageBytesMax ? 'imagesTooLarge' : all;
}
