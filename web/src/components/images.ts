// Images that the user pastes, drops or picks, as data URLs for a message.

/** All images of a message together. Data URLs are a third longer, and a request has at most 16 MiB. */
const imageBytesMax = 10_000_000;
const imagesMax = 20;

export interface PickedImage {
  readonly name: string;
  readonly url: string;
}

export type ImageError = 'imagesOnly' | 'imagesTooLarge' | 'imagesTooMany' | 'imagesUnreadable';

type ClipboardFiles = Pick<DataTransfer, 'types' | 'files'>;

export function hasFiles({ types }: Pick<DataTransfer, 'types'>): boolean {
  return types.includes('Files');
}

/** Returns no files for text of office programs, which add a picture of it to the clipboard. */
export function pastedFiles({ types, files }: ClipboardFiles): File[] {
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

/** Throws if the browser cannot show the image: its name and type prove nothing. */
async function assertDecodable(url: string): Promise<string> {
  const image = new Image();
  image.src = url;
  await image.decode();
  return url;
}

/** Returns the images, or the reason why they are rejected. Files that are too large are not read. */
export async function readImages(files: readonly File[]): Promise<readonly PickedImage[] | ImageError> {
  if (files.some(({ type }) => !type.startsWith('image/'))) return 'imagesOnly';
  if (files.length > imagesMax) return 'imagesTooMany';
  if (files.reduce((sum, { size }) => sum + size, 0) > imageBytesMax) return 'imagesTooLarge';
  try {
    return await Promise.all(
      files.map(async (file) => ({ name: file.name, url: await assertDecodable(await toDataUrl(file)) })),
    );
  } catch {
    return 'imagesUnreadable';
  }
}

function fileBytes({ url }: PickedImage): number {
  const text = url.slice(url.indexOf(',') + 1);
  return Math.floor((text.replace(/=+$/, '').length * 3) / 4);
}

/** Returns all images, or the reason why the new ones do not fit. */
export function appendImages(
  before: readonly PickedImage[],
  added: readonly PickedImage[],
): readonly PickedImage[] | ImageError {
  const all = [...before, ...added];
  if (all.length > imagesMax) return 'imagesTooMany';
  const bytes = all.reduce((sum, image) => sum + fileBytes(image), 0);
  return bytes > imageBytesMax ? 'imagesTooLarge' : all;
}
