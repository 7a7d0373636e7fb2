// Which images a model is shown: those that all of them take, in a size that all of them take.
import type { ToolImage } from './tool.ts';

export const imageBytesMax = 3_000_000;

/** By its first bytes, whatever its name says. */
export function imageType(start: Buffer): string | undefined {
  const text = start.toString('latin1', 0, 12);
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (/^GIF8[79]a/.test(text)) return 'image/gif';
  return /^RIFF.{4}WEBP/s.test(text) ? 'image/webp' : undefined;
}

/** What base64 from elsewhere holds, where it is such an image. */
export function decodeImage(base64: string): ToolImage | undefined {
  if (base64.length > imageBytesMax * 2) return undefined;
  const bytes = Buffer.from(base64, 'base64');
  const mimeType = imageType(bytes);
  if (mimeType === undefined || bytes.length > imageBytesMax) return undefined;
  return { mimeType, data: bytes.toString('base64') };
}
