// Recognizes images of types and sizes that all models accept.
import type { ToolImage } from './tool.ts';

export const imageBytesMax = 3_000_000;

/** Recognizes the type by the first bytes, whatever the name of the file is. */
export function imageType(start: Buffer): string | undefined {
  const text = start.toString('latin1', 0, 12);
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(text)) return 'image/gif';
  return /^RIFF.{4}WEBP/s.test(text) ? 'image/webp' : undefined;
}

/** Returns the image in a base64 text; undefined if it is not one that models accept. */
export function decodeImage(base64: string): ToolImage | undefined {
  if (base64.length > imageBytesMax * 2) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  const mimeType = imageType(bytes);
  if (mimeType === undefined || bytes.length > imageBytesMax) return undefined;
  return { mimeType, data: bytes.toString('base64') };
}
