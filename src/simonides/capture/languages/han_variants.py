"""Read traditional Chinese characters as simplified ones.

The table holds only characters that commands are made of. Stored text keeps its characters; only
the text that patterns see is changed.
"""

from __future__ import annotations

# A simplified character, and what it may stand for.
_VARIANTS = """
    万萬 与與 专專 业業 东東 丝絲 两兩 严嚴 个個箇 临臨 为為爲 么麼麽 义義 乌烏
    乐樂 乔喬 习習 乡鄉 书書 买買 于於 云雲 亚亞 产產 亲親 从從 仓倉 们們 众眾衆
    会會 伟偉 传傳 体體 余餘 你妳 侣侶 储儲 儿兒 兰蘭 关關 兴興 养養 兽獸 内內
    写寫 军軍 农農 冯馮 况況 准準 减減 几幾 出齣 划劃 刘劉 刚剛 创創 别別 制製
    剂劑 剧劇 务務 动動 劳勞 区區 医醫 华華 单單 卖賣 卢盧 厅廳 历歷曆 压壓 厌厭
    厦廈 厨廚 县縣 发發髮 只隻祇 台臺 叶葉 号號 吃喫 后後 向嚮 吕呂 吗嗎 听聽
    吴吳 员員 周週 哔嗶 哟喲 啰囉 喂餵 喽嘍 团團 园園 国國 图圖 场場 坚堅 处處
    备備 复復複 够夠 头頭 妆妝 妇婦 妈媽 婶嬸 孙孫 学學 宁寧 宝寶 实實 宠寵 审審
    宾賓 对對 导導 将將 尔爾 尽盡儘 层層 属屬 岁歲 岗崗 岛島 布佈 师師 带帶 帮幫
    干幹乾 并並併 广廣 庄莊 庆慶 床牀 应應 张張 弹彈 当當 录錄 征徵 忆憶 志誌
    总總 恶惡 惯慣 愿願 戏戲 户戶 托託 执執 护護 报報 担擔 拟擬 据據 摄攝 数數
    无無 时時 昵暱 显顯 暂暫 术術 机機 杂雜 杆桿 条條 来來 杨楊 松鬆 板闆 极極
    构構 柜櫃 标標 栋棟 样樣 梦夢 检檢 楼樓 欢歡 欧歐 毕畢 气氣 汉漢 汤湯 沈瀋
    沟溝 没沒 注註 洁潔 测測 济濟 渔漁 温溫 游遊 湾灣 滚滾 满滿 滨濱 点點 炼煉
    烦煩 烧燒 热熱 爱愛 爷爺 独獨 猫貓 现現 电電 画畫 症癥 痫癇 瘾癮 癫癲 监監
    着著 瞒瞞 码碼 硕碩 确確 礼禮 种種 秘祕 积積 称稱 筑築 策筞 简簡 篮籃 类類
    粤粵 系係繫 繁緐 纠糾 红紅 级級 纪紀 纯純 纳納 线線 练練 细細 终終 绍紹 经經
    结結 给給 绝絕 统統 综綜 编編 网網 罗羅 聋聾 职職 联聯 肃肅 脏臟髒 腊臘 腾騰
    舍捨 艺藝 节節 苏蘇 苹蘋 范範 荐薦 药藥 营營 萧蕭 蒋蔣 蚁蟻 蚂螞 蛮蠻 补補
    表錶 装裝 见見 视視 觉覺 计計 订訂 认認 讨討 让讓 议議 讯訊 记記 讲講 许許
    设設 证證 识識 诉訴 词詞 译譯 试試 诗詩 话話 询詢 该該 详詳 语語 误誤 说說説
    请請 诸諸 读讀 谁誰 调調 谈談 谢謝 谭譚 谷穀 质質 购購 贯貫 贵貴 贸貿 贺賀
    贾賈 资資 赅賅 赖賴 赵趙 车車 软軟 轻輕 较較 辑輯 辞辭 边邊 辽遼 达達 过過
    运運 还還 这這 进進 远遠 连連 迟遲 选選 递遞 邓鄧 邮郵 邹鄒 邻鄰 郁鬱 郑鄭
    采採 释釋 里裡裏 钉釘 钟鐘鍾 钢鋼 钮鈕 钱錢 铁鐵 银銀 销銷 错錯 锡錫 锻鍛
    镇鎮 长長 门門 问問 间間 闺閨 闻聞 阎閻 队隊 阳陽 阴陰 际際 陆陸 陈陳 陕陝
    险險 随隨 难難 雇僱 面麵 韩韓 项項 顺順 须須鬚 顾顧 预預 领領 题題 颜顏 风風
    飞飛 饭飯 饮飲 馆館 马馬 驾駕 骑騎 鱼魚 鸿鴻 鹉鵡 鹏鵬 鹦鸚 麦麥 麸麩 黄黃
    龄齡 龙龍 龚龔 龟龜
"""
_SIMPLIFIED = str.maketrans({other: group[0] for group in _VARIANTS.split() for other in group[1:]})


def simplified(text: str) -> str:
    """Return a text with simplified characters, one for each."""
    return text.translate(_SIMPLIFIED)
