// Which images go with a message, and why others do not.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { holdsFiles, joinImages, type PickedImage, pastedFiles, readImages } from './images.ts';

function imageOf(bytes: number): PickedImage {
  return { name: 'a.png', url: `data:image/png;base64,${Buffer.alloc(bytes).toString('base64')}` };
}

const file = (type: string) => new File(['x'], 'a', { type });
const transfer = (types: string[]) => ({ types, files: [file('image/png')] as unknown as FileList });

describe('images', () => {
  it('may have ten megabytes together, as files', () => {
    assert.equal(joinImages([imageOf(5_000_000)], [imageOf(5_000_000)]).length, 2);
    assert.equal(joinImages([imageOf(5_000_000)], [imageOf(5_000_001)]), 'imagesTooLarge');
  });

  it('are at most twenty', () => {
    const many = Array.from({ length: 19 }, () => imageOf(1));
    assert.equal(joinImages(many, [imageOf(1)]).length, 20);
    assert.equal(joinImages(many, [imageOf(1), imageOf(1)]), 'imagesTooMany');
  });

  it('are nothing else, and can be read', async () => {
    assert.equal(await readImages([file('image/png'), file('text/plain')]), 'imagesOnly');
    // There is no FileReader here, as there is none for a file that is gone.
    assert.equal(await readImages([file('image/png')]), 'imagesUnreadable');
  });

  it('are taken from a clipboard unless they only show its text', () => {
    assert.equal(pastedFiles(transfer(['Files'])).length, 1);
    assert.equal(pastedFiles(transfer(['text/html', 'Files'])).length, 1);
    assert.equal(pastedFiles(transfer(['text/plain', 'Files'])).length, 1);
    assert.equal(pastedFiles(transfer(['text/plain', 'text/html', 'Files'])).length, 0);
  });

  it('are what is dropped where there are files', () => {
    assert.equal(holdsFiles({ types: ['text/plain'] }), false);
    assert.equal(holdsFiles({ types: ['text/html', 'Files'] }), true);
  });
});
