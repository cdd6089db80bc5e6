package openaiwire

import (
	"encoding/base64"

	"github.com/agentworker/worker/model"
)

// DataURLs returns the images with bytes as the URLs that both APIs take:
// https://developers.openai.com/api/docs/guides/images-vision
func DataURLs(images []model.Image) (urls []string) {
	for _, i := range images {
		if len(i.Data) > 0 {
			urls = append(urls, "data:"+i.MediaType+";base64,"+base64.StdEncoding.EncodeToString(i.Data))
		}
	}
	return urls
}
