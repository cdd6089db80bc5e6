package charset_test

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/encoding/htmlindex"

	"github.com/agentworker/worker/tool/internal/charset"
)

// texts are in what languages of the charsets are written.
var texts = map[string]string{
	"de": "Die Straße führt über die Brücke, an der großen Mühle vorbei.\r\nÄrger gibt es nur, wenn die Tür offen steht: größer, schöner, höher.\r\n",
	"fr": "L'été dernier, le café était fermé à cause des travaux. Où êtes-vous allés ? Ça n'a pas été très agréable, même là-bas.\n",
	"zh": "中华人民共和国的首都是北京。这个程序读取配置文件，然后连接到数据库。如果发生错误，它会写入日志。\n数据处理完成以后，请关闭窗口。\n",
	"tw": "台灣的首都是台北。這個程式讀取設定檔，然後連接到資料庫。如果發生錯誤，它會寫入記錄。\n資料處理完成以後，請關閉視窗。\n",
	"ja": "このプログラムは設定ファイルを読み込み、データベースに接続します。エラーが発生した場合は、ログに書き込みます。\n処理が終わったら、ウィンドウを閉じてください。\n",
	"ko": "이 프로그램은 설정 파일을 읽고 데이터베이스에 연결합니다. 오류가 발생하면 로그에 기록합니다.\n처리가 끝나면 창을 닫아 주세요.\n",
	"ru": "Эта программа читает файл настроек и подключается к базе данных. Если возникает ошибка, она записывает её в журнал.\nПосле обработки закройте окно.\n",
}

// TestDecode: text in a charset is read as what it says, and is written back byte for byte, also
// with a line that is changed.
func TestDecode(t *testing.T) {
	for _, tt := range []struct{ charset, language, mark string }{
		{"utf-8", "de", ""}, {"utf-8", "ja", ""},
		{"utf-16le", "de", "\xff\xfe"}, {"utf-16le", "zh", "\xff\xfe"}, {"utf-16be", "ru", "\xfe\xff"},
		{"utf-16le", "de", ""}, {"utf-16be", "fr", ""},
		{"windows-1252", "de", ""}, {"windows-1252", "fr", ""},
		{"gbk", "zh", ""}, {"gb18030", "zh", ""}, {"big5", "tw", ""},
		{"shift_jis", "ja", ""}, {"euc-jp", "ja", ""}, {"euc-kr", "ko", ""},
		{"windows-1251", "ru", ""}, {"koi8-r", "ru", ""},
	} {
		enc, err := htmlindex.Get(tt.charset)
		if err != nil {
			t.Fatal(err)
		}
		want := texts[tt.language]
		stored, err := enc.NewEncoder().Bytes([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		content := append([]byte(tt.mark), stored...)
		text, c, ok := charset.Decode(content)
		if !ok || string(text) != want {
			t.Errorf("%s %s%q: %t, %s: %q", tt.charset, tt.language, tt.mark, ok, c, text)
			continue
		}
		changed := strings.Replace(want, "\n", " 2\n", 1)
		again, err := c.Encode([]byte(changed))
		if err != nil {
			t.Errorf("%s: %v", tt.charset, err)
		}
		if text, _, ok := charset.Decode(again); !ok || string(text) != changed || !bytes.HasPrefix(again, []byte(tt.mark)) {
			t.Errorf("%s %s, changed: %t %q", tt.charset, tt.language, ok, text)
		}
	}
}

// TestWrongBytes: UTF-8 with a few wrong bytes stays UTF-8, as it is.
func TestWrongBytes(t *testing.T) {
	for _, content := range []string{"Stra\xc3\x9fe, M\xc3\xbchle, \xff\n", "\uFEFFa\xffb", texts["ja"] + "\x80", texts["de"] + "\xe9"} {
		if text, c, ok := charset.Decode([]byte(content)); !ok || !c.IsUTF8() || string(text) != content {
			t.Errorf("%q is %s: %q", content, c, text)
		}
	}
}

// TestBinary: what is no text is not taken for some.
func TestBinary(t *testing.T) {
	for _, content := range []string{
		"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00>\x00", "a\x00b", "\xff\xfea", "\x00\x00\x00\x00", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"\xff\xfe\x00\xd8a\x00", // half of a surrogate pair
	} {
		if text, c, ok := charset.Decode([]byte(content)); ok {
			t.Errorf("%q is %s: %q", content, c, text)
		}
	}
}

// TestNoForm: a character that the file can't have is named.
func TestNoForm(t *testing.T) {
	_, c, ok := charset.Decode([]byte("gr\xfc\xdfe\n"))
	if !ok || c.IsUTF8() {
		t.Fatalf("%t, %s", ok, c)
	}
	if _, err := c.Encode([]byte("grüße →\n")); err == nil || !strings.Contains(err.Error(), "no form for '→'") {
		t.Errorf("%v", err)
	}
}

// FuzzDecode: what is read as text is stored again as it was.
func FuzzDecode(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Add([]byte("\xff\xfea\x00\n\x00"))
	f.Add([]byte("gr\xfc\xdfe\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		text, c, ok := charset.Decode(content)
		if !ok {
			return
		}
		if again, err := c.Encode(text); err != nil || !bytes.Equal(again, content) {
			t.Errorf("%s: %q, %v", c, again, err)
		}
	})
}
