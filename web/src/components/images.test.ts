import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { appendImages, hasFiles, type PickedImage, pastedFiles, readImages } from './images.ts';

function imageOf(bytes: number): PickedImage {
  return { name: 'a.png', url: `data:image/png;base64,${Buffer.alloc(bytes).toString('base64')}` };
}

const file = (type: string) => new File(['x'], 'a', { type });
const transfer = (types: string[]) => ({ types, files: [file('image/png')] as unknown as FileList });

describe('the images of a message', () => {
  it('have at most ten megabytes together', () => {
    assert.equal(appendImages([imageOf(5_000_000)], [imageOf(5_000_000)]).length, 2);
    assert.equal(appendImages([imageOf(5_000_000)], [imageOf(5_000_001)]), 'imagesTooLarge');
  });

  it('are at most twenty', () => {
    const many = Array.from({ length: 19 }, () => imageOf(1));
    assert.equal(appendImages(many, [imageOf(1)]).length, 20);
    assert.equal(appendImages(many, [imageOf(1), imageOf(1)]), 'imagesTooMany');
  });

  it('are rejected if they are other files or cannot be read', async () => {
    assert.equal(await readImages([file('image/png'), file('text/plain')]), 'imagesOnly');
    // Node has no FileReader, so that reading fails.
    assert.equal(await readImages([file('image/png')]), 'imagesUnreadable');
  });

  it('are taken from the clipboard, unless they only picture its text', () => {
    assert.equal(pastedFiles(transfer(['Files'])).length, 1);
    assert.equal(pastedFiles(transfer(['text/html', 'Files'])).length, 1);
    assert.equal(pastedFiles(transfer(['text/plain', 'Files'])).length, 1);
    assert.equal(pastedFiles(transfer(['text/plain', 'text/html', 'Files'])).length, 0);
  });

  it('are dropped as files, not as text', () => {
    assert.equal(hasFiles({ types: ['text/plain'] }), false);
    assert.equal(hasFiles({ types: ['text/html', 'Files'] }), true);
  });
});
