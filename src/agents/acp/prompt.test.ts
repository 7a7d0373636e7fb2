import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { imageBytesMax, preamble, toPrompt } from './prompt.ts';

const text = (value: string) => ({ type: 'text', text: value });
const png = 'data:image/png;base64,aGVsbG8=';
const capabilities = { image: true };
const message = (content: string, ...imageUrls: string[]) => ({ content, imageUrls });

describe('a prompt', () => {
  it('contains the messages and their images in order', async () => {
    assert.deepEqual(await toPrompt([message('One', png), message('Two')], { capabilities }), [
      text('One'),
      { type: 'image', data: 'aGVsbG8=', mimeType: 'image/png' },
      text('Two'),
    ]);
  });

  it('contains images that were fetched from other servers', async () => {
    const asked: string[] = [];
    const fetchImage = async (url: string) => {
      asked.push(url);
      return { data: Buffer.from('hello'), mimeType: 'image/jpeg' };
    };
    const blocks = await toPrompt([message('', 'https://a.example/b.jpg')], { capabilities, fetchImage });
    assert.deepEqual(blocks, [{ type: 'image', data: 'aGVsbG8=', mimeType: 'image/jpeg' }]);
    assert.deepEqual(asked, ['https://a.example/b.jpg']);
  });

  it('contains the URL of an image that cannot be fetched or is too large', async () => {
    const attempts = [
      undefined,
      async () => undefined,
      async () => {
        throw new Error('away');
      },
      async () => ({ data: Buffer.alloc(imageBytesMax + 1), mimeType: 'image/png' }),
    ];
    for (const fetchImage of attempts) {
      const options = { capabilities, ...(fetchImage === undefined ? {} : { fetchImage }) };
      const [block] = await toPrompt([message('', 'https://a.example/x/b%20c.png?d')], options);
      assert.deepEqual(block, {
        type: 'resource_link',
        name: 'b c.png',
        uri: 'https://a.example/x/b%20c.png?d',
        description: 'An image that the user sent. It could not be fetched.',
      });
    }
  });

  it('mentions images if the agent cannot see them', async () => {
    const fetchImage = () => assert.fail('it is not fetched');
    const blocks = await toPrompt([message('', png, 'https://a.example/b')], {
      capabilities: {},
      fetchImage,
    });
    assert.deepEqual(blocks, [
      text('[The user sent an image. You cannot see images here.]'),
      text('[The user sent an image, https://a.example/b. You cannot see images here.]'),
    ]);
  });

  it('mentions an invalid image as one that cannot be read', async () => {
    const large = `data:image/png;base64,${'A'.repeat(imageBytesMax * 2)}`;
    for (const url of ['data:text/html,hi', 'data:image/png;base64,', 'blob:x', large]) {
      const [block] = await toPrompt([message('', url)], { capabilities });
      assert.deepEqual(block, text('[The user sent an image that cannot be read, or is too large.]'));
    }
  });

  it('mentions an invalid URL as an image that cannot be read, without repeating it', async () => {
    const fetchImage = () => assert.fail('it is not fetched');
    for (const url of ['<string>', '', 'https://a.example/ b', 'javascript:alert(1)', '//a.example/b.png'])
      for (const able of [capabilities, {}, undefined])
        assert.deepEqual(await toPrompt([message('', url)], { capabilities: able, fetchImage }), [
          text('[The user sent an image that cannot be read, or is too large.]'),
        ]);
  });

  it('leaves out images beyond the limit and says so', async () => {
    const blocks = await toPrompt([message('', ...Array.from({ length: 25 }, () => png))], { capabilities });
    assert.equal(blocks.length, 21);
    assert.deepEqual(blocks.at(-1), text('[5 more images were left out.]'));
  });
});

describe('the preamble', () => {
  it('contains the instructions and the language', () => {
    assert.deepEqual(preamble({ instructions: 'Be brief.', language: 'de' }), [
      text(
        '<instructions>\nBe brief.\n</instructions>\n\nSpeak German with the user, unless they ask otherwise.',
      ),
    ]);
    assert.deepEqual(preamble({ language: 'zh-TW' }), [
      text('Speak Chinese (Taiwan) with the user, unless they ask otherwise.'),
    ]);
  });

  it('is empty if there is nothing to say', () => {
    for (const nothing of [
      {},
      { instructions: null, language: null },
      { instructions: '', language: 'en-US' },
    ])
      assert.deepEqual(preamble(nothing), []);
  });

  it('uses an unknown language tag unchanged', () => {
    assert.deepEqual(preamble({ language: '??' }), [
      text('Speak ?? with the user, unless they ask otherwise.'),
    ]);
  });
});
